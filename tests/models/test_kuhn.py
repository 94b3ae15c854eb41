"""Golden model against Markus Kuhn's decoder stress test: one error for each malformed sequence.

The sequences are those of its sections 2 to 5. They need `ucs4` with noncharacters accepted and
errors over the whole sequence.
"""

from dataclasses import replace

import pytest

from utf8_hdl import UCS4, ErrorSpan
from utf8_sim.golden.decoder import decode

RULES = replace(UCS4, accept_noncharacters=True, error_span=ErrorSpan.WHOLE_SEQUENCE)

VALID = {
    "2.1 first of each length": "00 C280 E0A080 F0908080 F888808080 FC8480808080",
    "2.2 last of each length": "7F DFBF EFBFBF F7BFBFBF FBBFBFBFBF FDBFBFBFBFBF",
    "2.3 other boundaries": "ED9FBF EE8080 EFBFBD F48FBFBF F4908080",
    "5.3 noncharacters": "EFBFBE EFBFBF",
}
MALFORMED = {
    "3.1 continuation bytes": " ".join(f"{byte:02X}" for byte in range(0x80, 0xC0)),
    "3.2 lonely lead bytes": " ".join(f"{byte:02X}" for byte in range(0xC0, 0xFE)),
    "3.3 last byte of lowest missing": "C0 E080 F08080 F8808080 FC80808080",
    "3.3 last byte of highest missing": "DF EFBF F7BFBF FBBFBFBF FDBFBFBFBF",
    "3.5 impossible bytes": "FE FF FE FE FF FF",
    "4.1 overlong slash": "C0AF E080AF F08080AF F8808080AF FC80808080AF",
    "4.2 highest overlong": "C1BF E09FBF F08FBFBF F887BFBFBF FC83BFBFBFBF",
    "4.3 overlong NUL": "C080 E08080 F0808080 F880808080 FC8080808080",
    "5.1 surrogates": "EDA080 EDADBF EDAE80 EDAFBF EDB080 EDBE80 EDBFBF",
}


@pytest.mark.parametrize(("groups", "error"), [(VALID, 0), (MALFORMED, 1)], ids=["valid", "wrong"])
def test_sequences_alone_and_in_a_row(groups, error):
    for name, words in groups.items():
        sequences = [bytes.fromhex(word) for word in words.split()]
        for row in [*([sequence] for sequence in sequences), sequences]:
            found = [(token.length, token.error) for token in decode(b"".join([*row, b"z"]), RULES)]
            assert found == [*((len(sequence), error) for sequence in row), (1, 0)], name
