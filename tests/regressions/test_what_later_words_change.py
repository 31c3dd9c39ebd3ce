"""Statements of one moment that later lines of the recording had changed, and cuts of secrets.

A plan that the person refused to have written stood as the plan; a question that the person had
answered was asked again; a failed test vanished behind a later line that stopped before it; a
file was "not committed" though git showed a clean tree since. The end of a long text was cut
inside a token or behind the head of a private key, so that redaction did not know the rest."""

from hypothesis import example, given
from hypothesis import strategies as st

from leftoff.redaction.redactor import Redactor
from leftoff.text.truncation import ends, tail

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
BODY = "\n".join(("Qm9va2tlZXBpbmc7dGlsbHM" * 3)[n : n + 60] for n in range(9))
KEY = f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 2\n\n{BODY}\n-----END PGP PRIVATE KEY BLOCK-----"


@given(st.integers(0, 120), st.sampled_from([TOKEN, KEY]), st.integers(40, 400))
@example(60, KEY, 200)
def test_no_end_of_a_text_holds_part_of_a_secret(words: int, secret: str, limit: int) -> None:
    text = "The till is done. " * words + f"Here it is: {secret}\n\nThat is all. Shall I go on?"
    text += " It runs well." * (words % 30)
    pieces = [line[:24] for line in BODY.splitlines()] if secret == KEY else [TOKEN[8:24]]
    for cut in (tail(text, limit), ends(text, limit)):
        redacted = Redactor().text(cut)
        assert not any(piece in redacted for piece in pieces)
