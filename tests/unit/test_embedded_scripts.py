"""What scripts that are given inline say of files: tools in JavaScript, other languages."""

from __future__ import annotations

import pytest

from leftoff.shell.embedded.other_languages import other_effects


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
