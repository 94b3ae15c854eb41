"""One error for each malformed sequence, as Markus Kuhn's decoder test asks.

The sequences are those of its sections 2 to 5, for `ucs4` with noncharacters accepted and errors
over the whole sequence; each stands between two other characters here.
"""

from dataclasses import replace

import pytest

from rtl import rtl_tokens
from utf8_hdl import UCS4, ErrorSpan

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
    "3.3 last byte missing": "C0 E080 F08080 F8808080 FC80808080"
    " DF EFBF F7BFBF FBBFBFBF FDBFBFBFBF",
    "3.5 impossible bytes": "FE FF",
    "4.1 overlong slash": "C0AF E080AF F08080AF F8808080AF FC80808080AF",
    "4.2 highest overlong": "C1BF E09FBF F08FBFBF F887BFBFBF FC83BFBFBFBF",
    "4.3 overlong NUL": "C080 E08080 F0808080 F880808080 FC8080808080",
    "5.1 surrogates": "EDA080 EDADBF EDAE80 EDAFBF EDB080 EDBE80 EDBFBF",
}


@pytest.mark.parametrize(
    ("words", "malformed"),
    [
        pytest.param(words, malformed, id=name)
        for malformed, groups in enumerate((VALID, MALFORMED))
        for name, words in groups.items()
    ],
)
def test_each_sequence_is_one_character_or_one_error(words, malformed):
    sequences = [bytes.fromhex(word) for word in words.split()]
    tokens = rtl_tokens(b"".join(b"a" + sequence + b"z" for sequence in sequences), profile=RULES)
    assert [(token.length, bool(token.error)) for token in tokens] == [
        token
        for sequence in sequences
        for token in ((1, False), (len(sequence), bool(malformed)), (1, False))
    ]


@pytest.mark.parametrize(
    ("words", "errors"),
    [
        pytest.param("80BF80BF80BF80", 7, id="3.1 seven continuation bytes"),
        pytest.param(MALFORMED["3.3 last byte missing"], 10, id="3.4 all of 3.3 in a row"),
        pytest.param("FEFEFFFF", 4, id="3.5.3 impossible bytes in a row"),
        pytest.param("EDA080EDB080", 2, id="5.2.1 lowest pair of surrogates"),
        pytest.param("EDAFBFEDBFBF", 2, id="5.2.8 highest pair of surrogates"),
    ],
)
def test_malformed_sequences_in_a_row(words, errors):
    tokens = rtl_tokens(bytes.fromhex(words) + b"z", profile=RULES)
    assert sum(bool(token.error) for token in tokens) == errors
    assert len(tokens) == errors + 1
