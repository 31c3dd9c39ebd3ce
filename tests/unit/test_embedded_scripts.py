"""What scripts that are given inline say of files: tools in JavaScript, other languages."""

from __future__ import annotations

import pytest

from leftoff.shell.embedded.other_languages import other_effects
from leftoff.shell.embedded.python import python_effects
from leftoff.shell.embedded.tool_script import tool_steps
from leftoff.shell.heredocs import extract_heredocs


@pytest.mark.parametrize(
    "code,steps",
    [
        ('await tools.exec_command({cmd: "ls"})', [("command", "ls", "")]),
        ("tools.shell('ls -l')", [("command", "ls -l", "")]),
        ('tools.shell_command({command: "ls", workdir: "/w"})', [("command", "ls", "/w")]),
        ('tools.exec_command({cwd: "/w", cmd: "ls"})', [("command", "ls", "/w")]),
        ('tools.exec_command({\n  "cmd": "ls",\n  other: {cmd: "no"},\n})', [("command", "ls", "")]),
        ('const c = "ls"; tools.exec_command({cmd: c})', [("command", "ls", "")]),
        ('const cmd = "ls"; tools.exec_command({cmd})', [("command", "ls", "")]),
        ('tools.exec_command({cmd: "ls " +\n "-l"})', [("command", "ls -l", "")]),
        ('const a = "ls"; tools.shell(a + " -l")', [("command", "ls -l", "")]),
        ('tools.shell(["a", "b"].join("\\n"))', [("command", "a\nb", "")]),
        ('tools.shell(\n  ["a",\n "b"]\n  .join(" && ")\n)', [("command", "a && b", "")]),
        ('tools.shell(["a", b].join(" "))', []),
        ('tools.shell(["a", "b"].join(sep))', []),
        ('tools.shell(["a", "b"])', []),
        ("tools.shell(String.raw`a\\b`)", [("command", "ab", "")]),
        ("tools.shell(`ls ${x}`)", []),
        ("tools.shell(unknown)", []),
        ('tools.shell("a" + unknown)', []),
        ('tools.shell("a" +', []),
        ("tools.shell", []),
        ("tools.shell = 1", []),
        ("shell('ls')", []),
        ("tools.other('ls')", []),
        ('tools.apply_patch("*** Begin Patch")', [("patch", "*** Begin Patch", "")]),
        ('tools.applyPatch({patch: "p"}); tools.shell("l")', [("patch", "p", ""), ("command", "l", "")]),
        ('tools.apply_patch({input: "p"})', [("patch", "p", "")]),
        ("", []),
    ],
)  # fmt: skip
def test_the_tools_that_a_script_calls(code: str, steps: list[tuple[str, str, str]]) -> None:
    assert tool_steps(code) == steps


@pytest.mark.parametrize(
    "command,taken,bodies",
    [
        ("cat <<A\nx\nA\nls", "cat < /dev/here-document/0\n\nls", [("x\n", True)]),
        ("cat <<'A'\nx\nA", "cat < /dev/here-document/0\n", [("x\n", False)]),
        ("cat <<\\A\nx\nA", "cat < /dev/here-document/0\n", [("x\n", False)]),
        ("cat <<-A\n\tx\n\tA", "cat < /dev/here-document/0\n", [("x\n", True)]),
        ("cat <<- A\n\tx\n", "cat < /dev/here-document/0\n", [("x\n", True)]),
        ("cat <<A <<B\nx\nA\ny\nB", "cat < /dev/here-document/0 < /dev/here-document/1\n", [("x\n", True), ("y\n", True)]),
        ("cat <<A\nx", "cat < /dev/here-document/0\n", [("x", True)]),
        ("echo '<<A' \"<<B\" \\<<C", "echo '<<A' \"<<B\" \\<<C", None),
        ("cat <<< x", "cat < /dev/here-string/x", []),
        ("cat <<<  'a b'", "cat < /dev/here-string/'a b'", []),
        ("echo $((1<<2)) <<A\nA", "echo $((1<<2)) < /dev/here-document/0\n", [("", True)]),
        ("echo $((1<<2", "echo $((1<<2", []),
        ("x=$(cat <<A\ny\nA\n)", "x=$(cat < /dev/here-document/0\n\n)", [("y\n", True)]),
        ("(cat <<A) # <<B\ny\nA", "(cat < /dev/here-document/0) \n", [("y\n", True)]),
        ("ls # <<A", "ls ", []),
        ("echo $'it\\'s <<A'", "echo $'it\\'s <<A'", []),
        ("echo 'open <<A", "echo 'open <<A", []),
        ("cat << ", "cat << ", []),
        ("cat <<'A", "cat <<'A", []),
        ('cat <<"A B"\nx\nA B\n', "cat < /dev/here-document/0\n\n", [("x\n", False)]),
    ],
)  # fmt: skip
def test_documents_are_taken_out_of_a_command(
    command: str, taken: str, bodies: list[tuple[str, bool]] | None
) -> None:
    found, documents = extract_heredocs(command)
    if bodies is not None:
        assert (found, documents) == (taken, bodies)
    else:
        assert "<<A" in found


@pytest.mark.parametrize(
    "language,code,steps,partial",
    [
        ("node", "fs.rm('d', {recursive: true}); fs.rename('a', 'b')", [("delete_tree", "d", ""), ("move", "a", "b")], False),
        ("node", "fs.writeFileSync(name, 'x')", [], True),
        ("node", "fs.readFileSync(name)", [], False),
        ("node", "fs.renameSync('a', to)", [], True),
        ("node", "require('fs').promises.unlink('a')", [("delete", "a", "")], False),
        ("node", "const p = 'a' + x; fs.unlinkSync(p)", [], True),
        ("node", "/* fs.unlinkSync('a') */ // fs.rmSync('b')\nfs.rmdirSync('c')", [], False),
        ("deno", "Deno.removeSync('a')", [("delete_tree", "a", "")], False),
        ("ruby", "File.open('a', 'w') { |f| f.puts 1 } # c", [("write", "a", "")], False),
        ("ruby", "File.open('a', 'a'); File.open('b')", [("append", "a", ""), ("read", "b", "")], False),
        ("ruby", "FileUtils.mv 'a', 'd'; File.delete 'b'", [("move_into", "a", "d"), ("delete", "b", "")], False),
        ("ruby", 'File.write("a#{1}", 1)', [], True),
        ("php", "unlink('a'); // unlink('b')\nfopen('c', 'a');", [("delete", "a", ""), ("append", "c", "")], False),
        ("php", 'file_put_contents("$a", 1);', [], True),
        ("perl", "open(my $f, '<', 'a'); open($g, '>>', 'b'); open(H, '>c')", [("read", "a", ""), ("append", "b", ""), ("write", "c", "")], False),
        ("perl", "open(F, 'a')", [("read", "a", "")], False),
        ("perl", "open(F, 'ls |')", [], True),
        ("perl", "open(F, '+<', 'a')", [], True),
        ("perl", "open(F)", [], True),
        ("lua", "x", [], True),
        ("node", "x" * 60_001, [], True),
    ],
)  # fmt: skip
def test_what_other_languages_do_with_files(
    language: str, code: str, steps: list[tuple[str, str, str]], partial: bool
) -> None:
    found = other_effects(code, language)
    assert (list(found.steps), found.partial) == (steps, partial)


@pytest.mark.parametrize(
    "code,steps,partial",
    [
        ("open('a', 'w'", [], True),
        ("x = 1", [], False),
        ("open(" + "('a')" * 1, [], True),
        ("open(name, 'w')", [], True),
        ("open('a', mode)", [], True),
        ("with open('a') as f: pass\nprint('open')", [("read", "a", "")], False),
        ("async def go():\n    async with x as y:\n        open('a', 'w')\nasyncio.run(go())", [("write", "a", "")], False),
        ("async def go():\n    async for p in ['a']:\n        open(p, 'w')\ngo()", [("write", "a", "")], False),
        ("class A:\n    x = 1\n    def read(self):\n        open('a')", [], False),
        ("class A:\n    def save(self):\n        open(self.path, 'w')", [], True),
        ("match x:\n    case 1:\n        open('a', 'w')\n    case _:\n        open('b', 'w')",
         [("maybe", "", ""), ("write", "a", ""), ("write", "b", ""), ("surely", "", "")], True),
        ("try:\n    os.remove('a')\nexcept* OSError:\n    pass", [("delete_if", "a", "")], False),
        ("if os.path.exists('a'):\n    os.remove('a')\nelse:\n    open('b', 'w')", [("delete_if", "a", "")], False),
        ("if x == 1:\n    print('open')", [], False),
        ("a, b = 'open', 1\n(c, d) = ('p', 'q')\nopen(c, 'w'); open(d, 'w')", [("write", "p", ""), ("write", "q", "")], False),
        ("a, b = f()\nopen(a, 'w')", [], True),
        ("for a, b in {'p': 'q'}.items():\n    open(b, 'w')", [("write", "q", "")], False),
        ("for a in {'p': 'q'}:\n    open(a, 'w')", [("write", "p", "")], False),
        ("for a in {'p', 'p'}:\n    open(a, 'w')", [("write", "p", ""), ("write", "p", "")], False),
        ("for a in f():\n    open(a, 'w')", [], True),
        ("for i in range(1, 3):\n    open(f'{i}', 'w')", [("write", "1", ""), ("write", "2", "")], False),
        ("for i in range(n):\n    open(f'{i}', 'w')", [], True),
        ("[open(p, 'w') for p in reversed(['a', 'b'])]", [("write", "a", ""), ("write", "b", "")], False),
        ("{p: open(p, 'w') for p in ['a']}", [("write", "a", "")], False),
        ("any(open(p, 'w') for p in x)", [], True),
        ("f = lambda: open('a', 'w')", [], False),
        ("def f(p, mode='w'):\n    open(p, mode)\nf('a'); f(p='b', mode='a')", [("write", "a", ""), ("append", "b", "")], False),
        ("def f():\n    f()\nf(); open('a')", [("read", "a", "")], False),
        ("np.save('a', x); pd.read_csv('b'); df.to_csv('c'); plt.savefig(n)", [("write", "a", ""), ("read", "b", ""), ("write", "c", "")], False),
        ("subprocess.run(['touch', \"it's\"])", [("shell", "'touch' 'it'\\''s'", "")], False),
        ("subprocess.run(['touch', n])", [], True),
        ("os.system(c)", [], True),
        ("zipfile.ZipFile('a').extractall()", [("read", "a", "")], True),
        ("x.unlink()", [], True),
        ("Path('a').symlink_to('b'); Path('c').hardlink_to('d'); Path('e').rmdir()", [("add", "a", "")], False),
        ("p = Path(); (p / 'a').open('w'); Path('b').open(mode='a'); Path('c').open()", [("write", "./a", ""), ("append", "b", ""), ("read", "c", "")], False),
        ("Path('a').joinpath('b').resolve().touch(); (Path('a') / '/b').touch()", [("touch", "a/b", ""), ("touch", "/b", "")], False),
        ("'a'.replace('b', 'c'); open('x')", [("read", "x", "")], False),
        ("Path('/').parent.touch(); Path('a/b').parent.touch(); Path('a').parent.touch()", [("touch", "/", ""), ("touch", "a", ""), ("touch", ".", "")], False),
        ("open(os.path.basename('d/a'), 'w'); open(Path('d/b.c').stem, 'w')", [("write", "a", ""), ("write", "b", "")], False),
        ("open(os.path.join('d', n), 'w')", [], True),
        ("open(sys.argv[1], 'w'); open(sys.argv[9], 'w')", [("write", "arg", "")], True),
        ("for p in sys.argv[1:]:\n    open(p, 'w')", [("write", "arg", "")], False),
        ("exec(open('a').read())", [("read", "a", "")], False),
    ],
)  # fmt: skip
def test_what_python_does_with_files(
    code: str, steps: list[tuple[str, str, str]], partial: bool
) -> None:
    found = python_effects(code, ("arg",))
    assert (list(found.steps), found.partial) == (steps, partial)
