"""The live page in Chromium, used with mouse and keys, against CPython and Amaranth's simulator."""

import html
import json
import os
import random
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from command import told
from hostile import EVERY_BYTE, HOSTILE, LEADS, TEXTS
from live_page import BROWSER, DRIVER, ActionChains, Keys, LivePage, WebElement, browser, served
from naive import naive_tokens
from needs import needs
from reference import ref_tokens
from rtl import ALL_RULES, broken
from samples import is_quick
from utf8_flow.designs import DesignSpec
from utf8_flow.live import build
from utf8_flow.live.wasm import COMPILER, write_page_module
from utf8_hdl import EXTENDED, UNICODE, CompactDecoder, Decoder, Encoder, ErrorSpan
from utf8_sim import FixedStalls, Trace
from utf8_sim.campaign import boundary_encodings
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.stimulus import Stimulus

pytestmark = [
    needs(BROWSER, DRIVER),
    needs(modules=[COMPILER]),
    pytest.mark.xdist_group("browser"),  # one server, one browser and one page for all of them
]

ROOT = Path(__file__).parents[2]
EMBEDDED = [
    html.unescape(found)
    for page in ("docs/learn.md", "site/live.md")
    for found in re.findall(r"live/index\.html#([^\"]+)", (ROOT / page).read_text())
]
COMPONENTS = "decoder", "compact-decoder", "encoder", "validator-8", "transcoder-4"
MISSING = "transcoder-16"
"""A component without a design in this build of the page."""
DECODERS = {"decoder": Decoder(), "compact-decoder": CompactDecoder()}
SIZE = 1200, 900
TELEPHONE = 390, 844


def random_bytes(rng: random.Random) -> bytes:
    """Characters, lead bytes and errors in random order."""
    parts = [*(text.encode() for text in "aé≠😀"), b"\x80", b"\xbf", b"\xed\xa0", b"\xf4\x90"]
    return b"".join(rng.choice([*parts, bytes([rng.choice(LEADS)])]) for _ in range(40))


RANDOM = [random_bytes(random.Random(seed)) for seed in range(3)]
INPUTS = [*(data[:500] for data in HOSTILE), *RANDOM]  # the page shows 512 tokens
CUT_SHORT = bytes.fromhex("41 E2 82 E2 82 AC F0 9F 98 80 80 42")


OVERRIDES = [rules for rules in ALL_RULES.values() if rules.name == "ucs4"]
WHOLE_SEQUENCE = replace(UNICODE, error_span=ErrorSpan.WHOLE_SEQUENCE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, request) -> Path:
    """The page with few designs, and the compact decoder under the rules that tests choose.

    It only has the decoder if no long test needs other designs.
    """
    folder = tmp_path_factory.mktemp("live")
    few, compact = build.specs_of, build.SPECS["compact-decoder"]

    def specs_of(plain: DesignSpec, designs: str) -> Iterator[DesignSpec]:
        yield from few(plain, designs)
        if plain == compact:
            yield from map(plain.under, [WHOLE_SEQUENCE, EXTENDED, *OVERRIDES])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "specs_of", specs_of)
        if is_quick(request.config):
            patch.setattr(build, "SPECS", {"decoder": build.SPECS["decoder"]})
        build.write_page(folder, "few")
    return folder


@pytest.fixture(scope="module")
def address(folder) -> Iterator[str]:
    with served(folder) as address:
        yield address


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    with browser() as driver:
        yield driver


@pytest.fixture
def page(driver, address) -> Iterator[LivePage]:
    """The page, not yet opened. After the test, the console must have no errors."""
    page = LivePage(driver, address)
    page.complaints()
    yield page
    assert page.complaints() == []


def file_of(component: str, folder: Path) -> str:
    """The name of a component's design in a page."""
    index = json.loads((folder / build.DESIGNS / "index.json").read_text())
    return next(each["file"] for each in index["designs"] if each["component"] == component)


def link(**setting: Any) -> str:
    return urlencode({name.replace("_", "-"): value for name, value in setting.items()})


def joined(tokens: list[dict[str, str]]) -> str:
    return "".join(token["text"] for token in tokens)


def sent(tokens: list[dict[str, str]]) -> bytes:
    """The bytes of a component whose output is bytes."""
    return bytes.fromhex(joined(tokens))


def spans(tokens: list[dict[str, str]]) -> list[tuple[int, int, str]]:
    return [(int(token["offset"]), int(token["length"]), token["kind"]) for token in tokens]


def check_tokens(page: LivePage, data: bytes) -> None:
    """The page shows CPython's tokens for the bytes, and the browser agrees."""
    tokens = page.all_tokens()
    assert joined(tokens) == data.decode("utf-8", "replace")
    assert spans(tokens) == [(t.offset, t.length, t.error or "none") for t in ref_tokens(data)]
    assert page.agrees() == "true"


def levels(design: Any, shown: dict[str, str]) -> dict[str, int]:
    """The values of the pins on the page, as numbers."""
    states = {state.name: state.value for state in design.State}
    return {
        name: states[text] if name == "state" else int(text.split()[0], 16)
        for name, text in shown.items()
    }


def simulated(design: Any, *texts: Any, gaps: Any = (), stalls: Any = ()) -> list[dict[str, int]]:
    """The values of the pins in Amaranth's simulator, with stalls in the given cycles.

    In idle cycles, the payload is all ones, as on the page.
    """
    given, taken = (
        FixedStalls(tuple(cycle in cycles for cycle in range(max(cycles, default=-1) + 1)))
        for cycles in (gaps, stalls)
    )
    engine = AmaranthEngine(design)
    ones = {
        p.name: np.full_like(p.column(999), (1 << p.width) - 1) for p in engine.interface.inputs
    }
    stimulus = Stimulus([(text, True) for text in texts], given, taken, idle=ones)
    table = Trace.join(list(engine.run(stimulus))).table()
    rows = (dict(zip(table.dtype.names, map(int, row), strict=True)) for row in table)
    return [{name: level for name, level in row.items() if name != "reset"} for row in rows]


def differing(
    design: Any, page: LivePage, expected: list[dict[str, int]], table: str = "#pins"
) -> set[str]:
    """The pins whose value in a table of the page differs in any cycle."""
    seen = [levels(design, shown) for shown in page.pins(table)]
    assert seen[0].keys() == expected[0].keys()
    both = list(zip(seen, expected, strict=False))
    for more in (seen[len(both) :], expected[len(both) :]):  # one of them has more cycles
        assert not any(cycle["i.valid"] or cycle["o.valid"] for cycle in more)
    return {name for now, then in both for name in then if now[name] != then[name]}


def test_typed_text_becomes_tokens(page):
    page.open()
    page.type("#text", "A©≠😀")
    assert page.element("#hex").get_attribute("value") == "41 C2 A9 E2 89 A0 F0 9F 98 80"
    assert (page.cycle, page.tokens()) == (0, [])
    counts = []
    while page.cycle < int(page.said("#cycles")):
        page.click("#step")
        counts.append(len(page.tokens()))
    assert counts == sorted(counts)
    assert {*counts} == {0, 1, 2, 3, 4}
    check_tokens(page, "A©≠😀".encode())
    page.click("#first")
    assert page.tokens() == []


@pytest.mark.long
@pytest.mark.parametrize("component", DECODERS)
def test_tokens_equal_cpython(page, component):
    page.open(link(component=component))
    for text in [*TEXTS, "", "<img src=x onerror=alert(1)> &amp; \u202eabc\u202c"]:
        page.follow(link(component=component, text=text))
        check_tokens(page, text.encode())
    for data in INPUTS:
        page.type("#hex", data.hex(" "))
        check_tokens(page, data)
    page.type("#hex", "E2 82 / AC 41")  # two texts
    kinds = [token["kind"] for token in page.all_tokens()]
    assert kinds == ["truncated", "unexpected-continuation", "none"]
    assert page.agrees() == "true"


@pytest.mark.long
@pytest.mark.parametrize("component", DECODERS)
def test_bytes_have_the_colour_of_their_token(page, component):
    page.open(link(component=component, hex=CUT_SHORT.hex()))
    page.click("#last")
    found = page.data("#bytes [data-offset]")
    tokens = ref_tokens(CUT_SHORT)
    owners = chain.from_iterable([n] * token.length for n, token in enumerate(tokens))
    assert [(int(b["offset"]), int(b["token"])) for b in found] == list(enumerate(owners))
    shown = page.data_in_each_cycle("#tokens [data-offset]")
    marked = page.data_in_each_cycle("#bytes .error")
    for out, wrong in zip(shown, marked, strict=True):  # no error is marked before its token is out
        errors = [range(t.offset, t.offset + t.length) for t in tokens[: len(out)] if t.error]
        assert {int(byte["offset"]) for byte in wrong} == set(chain.from_iterable(errors))
    assert len(out) == len(tokens)


@pytest.mark.long
def test_examples_and_their_resources(page):
    page.open()
    examples = page.elements(".example")
    seen = set()
    for example in examples:
        example.click()
        page.settle()
        assert page.all_tokens()
        assert page.agrees() == "true"
        seen.add(page.element("#hex").get_attribute("value"))
    assert len(seen) == len(examples) > 3
    names = page.script("return performance.getEntriesByType('resource').map(({name}) => name)")
    assert any(name.endswith(".wasm") for name in names)
    outside = [name for name in names if not name.startswith((page.address, "data:"))]
    assert outside == []


@pytest.mark.long
def test_file_is_chosen_or_dropped(page, tmp_path):
    page.open()
    file = tmp_path / "hostile.bin"
    file.write_bytes(CUT_SHORT)
    content = CUT_SHORT.hex(" ").upper()
    for data in (EVERY_BYTE, b"typed"):
        page.script("arguments[0].click()", page.element("#file"))  # a person begins with that
        page.element("#file").send_keys(str(file))  # the second time, the same file again
        page.wait_for(lambda: page.element("#hex").get_attribute("value") == content)
        page.settle()
        check_tokens(page, CUT_SHORT)
        page.drop("other.bin", data)
        check_tokens(page, data)


@pytest.mark.long
def test_encoder_replaces_what_is_no_character(page):
    page.open("component=encoder")
    page.type("#hex", "D7FF D800 DFFF E000 10FFFF 110000")
    assert sent(page.all_tokens()) == "\ud7ff��\ue000\U0010ffff�".encode()
    assert page.agrees() == "true"


@pytest.mark.long
def test_tokens_follow_chosen_rules(page):
    data = b"".join([*boundary_encodings(EXTENDED)[::5], *RANDOM])[:400]
    page.open(link(component="compact-decoder", hex=data.hex()))
    page.choose("#profile", "ucs4")
    for profile in OVERRIDES:
        page.choose("#surrogates", "accept" if profile.accept_surrogates else "reject")
        page.choose("#noncharacters", "accept" if profile.accept_noncharacters else "reject")
        page.choose("#error-span", profile.error_span.value)
        expected = naive_tokens(data, profile)
        assert page.said("#message") == ""
        tokens = page.all_tokens()
        assert spans(tokens) == [(t.offset, t.length, t.error or "none") for t in expected]
        assert page.agrees() in ("none", "true")


@pytest.mark.long
@pytest.mark.parametrize("component", [name for name in build.SPECS if not name.endswith("16")])
def test_every_component_equals_cpython(page, component):
    page.open(link(component=component))
    for data in INPUTS[::4]:
        text = data.decode("utf-8", "replace")
        given = {"text": text} if "encoder" in component else {"hex": data.hex()}
        page.follow(link(component=component, **given))
        if "decoder" in component:
            check_tokens(page, data)
        elif component.startswith("validator"):
            errors = [f"{t.error} at {t.offset}" for t in ref_tokens(data) if t.error]
            assert joined(page.all_tokens()) == (errors[0] if errors else "well-formed")
        else:
            encoding = "utf-16-le" if component.startswith("transcoder") else "utf-8"
            assert sent(page.all_tokens()) == text.encode(encoding)
        assert page.agrees() == "true"


@pytest.mark.long
@pytest.mark.parametrize("component", DECODERS)
def test_steps_show_states_of_gateware(page, component):
    design = DECODERS[component]
    names = {state.value: state.name for state in design.State}
    states = [names[cycle["state"]] for cycle in simulated(design, CUT_SHORT)]
    page.open(link(component=component, hex=CUT_SHORT.hex()))
    for cycle, state in enumerate(states[: int(page.said("#cycles")) + 1]):
        assert page.cycle == cycle
        assert page.data("#machine .current") == [
            {"state": state, "value": f"{design.State[state].value}"}
        ]
        assert page.said("#pins [data-pin=state] .level") == state
        taken = {edge["edge"] for edge in page.data("#machine .edge.taken")}
        assert len(taken) <= 1
        if cycle and states[cycle - 1] != state:
            steps = [design.State[name].value for name in states[cycle - 1 : cycle + 1]]
            assert taken == {" ".join(map(str, steps))}
        page.click("#step")
    assert len(set(states)) == 4


DESIGNS = DECODERS | {"encoder": Encoder()}
CODE_POINTS = [[0x41, 0x20AC, 0xD800, 0x1F600], [0x110000, 0x42]]


@pytest.mark.long
@pytest.mark.parametrize("component", DESIGNS)
@pytest.mark.parametrize(
    ("gaps", "stalls"),
    [((2, 3, 5, 8), (4, 6, 7, 20)), (range(1, 60, 2), range(0, 90, 3))],
)
def test_pins_equal_amaranth_simulator(page, component, gaps, stalls):
    texts = CODE_POINTS if component == "encoder" else [CUT_SHORT, RANDOM[-1]]
    hexadecimal = " / ".join(" ".join(f"{value:02X}" for value in text) for text in texts)
    cycles = [",".join(map(str, side)) for side in (gaps, stalls)]
    page.open(link(component=component, hex=hexadecimal, gaps=cycles[0], stalls=cycles[1]))
    expected = simulated(DESIGNS[component], *texts, gaps=gaps, stalls=stalls)
    assert differing(DESIGNS[component], page, expected) == set()


@pytest.mark.long
@pytest.mark.parametrize("component", DECODERS)
def test_clicked_stalls_equal_amaranth_simulator(page, component):
    page.open(link(component=component, hex=CUT_SHORT.hex(" ")))
    tokens, cycles = page.all_tokens(), int(page.said("#cycles"))
    page.scrub(3)
    page.click("#gap")
    page.scrub(4)
    page.click("#stall")
    page.click('#wave [data-row="o.ready"][data-cycle="6"]')
    page.click('#wave [data-row="i.valid"][data-cycle="7"]')
    page.click('#wave [data-row="i.valid"][data-cycle="5"]', "#wave [data-cycle='5']")  # and back
    assert page.cycle == 4
    assert page.element("#stall").get_attribute("aria-pressed") == "true"
    assert page.element("#gap").get_attribute("aria-pressed") == "false"
    expected = simulated(DECODERS[component], CUT_SHORT, gaps={3, 7}, stalls={4, 6})
    assert differing(DECODERS[component], page, expected) == set()
    assert page.all_tokens() == tokens
    assert page.agrees() == "true"
    assert int(page.said("#cycles")) > cycles
    page.click("#clear-stalls")
    assert int(page.said("#cycles")) == cycles


@pytest.mark.long
def test_bytes_move_from_stage_to_stage(page):
    data = bytes(range(0x41, 0x51))
    page.open(link(hex=data.hex()))
    # The first byte is accepted in cycle 1. No byte waits in the skid register.
    names = "Stage 1, take", "Stage 2, split", "Stage 3, pair", "Stage 4, classify"
    for cycle in (0, 1, 4, 9, 18):
        page.scrub(cycle)
        things = {stage["stage"]: stage["thing"] for stage in page.data("#stages [data-stage]")}
        assert things["Skid register"] == ""
        for behind, name in enumerate(names, start=2):
            byte = data[max(cycle - behind, 0) : max(cycle - behind + 1, 0)]  # none, at both ends
            assert things[name] == byte.hex().upper()


@pytest.mark.long
def test_buttons_and_slider_move_the_cycle(page):
    page.open(link(hex=CUT_SHORT.hex()))
    last = int(page.said("#cycles"))
    seen = []
    for button in ("#step", "#step", "#back", "#last", "#step", "#first", "#back"):
        page.click(button)
        seen.append(page.cycle)
    assert seen == [1, 2, 1, last, last, 0, 0]
    assert page.element("#scrub").get_attribute("max") == str(last)
    for error in [token.error for token in ref_tokens(CUT_SHORT) if token.error]:
        assert page.said("#message") == ""
        page.click("#next-error")
        assert page.tokens()[-1]["kind"] == error
    page.scrub(last)
    page.click("#next-error")
    assert (page.cycle, bool(page.said("#message"))) == (last, True)


@pytest.mark.long
def test_run_reaches_the_end_and_can_be_stopped(page):
    page.open(link(hex="41" * 300))  # a run of a minute
    page.click("#run")
    assert page.element("#run").get_attribute("aria-pressed") == "true"
    page.wait_for(lambda: page.cycle > 2)
    page.click("#run")
    assert page.element("#run").get_attribute("aria-pressed") == "false"
    stopped, last = page.cycle, int(page.said("#cycles"))
    assert 2 < stopped < last
    page.scrub(last - 5)
    page.keys(" ")
    page.wait_for(lambda: page.element("#run").get_attribute("aria-pressed") == "false")
    page.settle()
    assert page.said("#cycle") == page.said("#cycles")


def shown(page: LivePage) -> dict[str, Any]:
    """The state that a link must restore."""
    selectors = "#component", "#profile", "#surrogates", "#noncharacters", "#error-span"
    fields = {name: page.element(name).get_attribute("value") for name in (*selectors, "#hex")}
    pressed = [page.element(side).get_attribute("aria-pressed") for side in ("#gap", "#stall")]
    return fields | {"cycle": page.cycle, "tokens": page.tokens(), "pressed": pressed}


@pytest.mark.long
@pytest.mark.parametrize("field", ["#hex", "#text"])
def test_link_keeps_the_setting(page, field):
    page.open()
    page.choose("#component", "compact-decoder")
    page.type(field, CUT_SHORT.hex(" ") if field == "#hex" else "&#=+ %41 é😀\x01")
    page.scrub(6)
    page.click("#gap")
    page.scrub(8)
    page.click("#stall")
    before, setting = shown(page), page.script("return location.hash.slice(1)")
    assert before["pressed"] == ["false", "true"]
    assert before["tokens"]
    page.open(setting)
    assert shown(page) == before
    page.scrub(6)
    assert page.element("#gap").get_attribute("aria-pressed") == "true"


@pytest.mark.long
def test_button_copies_the_link(page):
    page.open(link(hex="E282", cycle=4))
    address = page.script("return location.href")
    assert "#hex=E282&cycle=4" in address
    page.click("#link")
    page.wait_for(lambda: page.said("#message"))
    assert page.element("#message").get_attribute("class") == "note"
    page.element("#text").send_keys(Keys.CONTROL, "a")
    page.element("#text").send_keys(Keys.CONTROL, "v")
    page.settle()
    check_tokens(page, address.encode())


def is_one_sentence(message: str) -> bool:
    return 0 < len(message) < 400 and "\n" not in message


@pytest.mark.long
@pytest.mark.parametrize("size", [SIZE, TELEPHONE])
def test_wrong_hexadecimal_has_a_message(page, size):
    with looked_at(page, "light", size):
        page.open()
        top = page.element("#control").rect["y"]
        unfinished = "4", "E2 82 / 4"
        for wrong in (*unfinished, "GG", "0x41", "E2 82 /// zz", "4 / 41"):
            page.type("#hex", wrong)
            assert page.element("#control").rect["y"] == top  # nothing moves
            severity = "note" if wrong in unfinished else "error"
            assert page.element("#message").get_attribute("class") == severity
            assert is_one_sentence(page.said("#message"))
            assert page.element("#hex").get_attribute("value") == wrong
            assert page.agrees() == "none"
            page.type("#hex", "41")
            assert page.said("#message") == ""
            check_tokens(page, b"A")


@pytest.mark.long
@pytest.mark.parametrize(
    "wrong",
    [
        "component=__proto__",
        "surrogates=perhaps",
        "cycle=1e3",
        "gaps=9-3",
        "stalls=1,x",
        "gaps=0-999999",
        "component=encoder&hex=FFFFFFFFFFFFFFFFFFFF",
    ],
)
def test_wrong_link_has_a_message(page, wrong):
    page.open(wrong)
    assert is_one_sentence(page.said("#message"))
    page.element("h1").click()
    page.keys("esg " + Keys.ARROW_RIGHT)
    page.choose("#component", "decoder")
    page.type("#hex", CUT_SHORT.hex())
    assert page.said("#message") == ""
    check_tokens(page, CUT_SHORT)


@pytest.mark.long
def test_missing_design_has_a_message(page):
    page.open(f"component={MISSING}")
    assert "16 lanes is not in this build of the page" in page.said("#message")
    assert "make live DESIGNS=all" in page.said("#missing")
    grey = {each.get_attribute("value") for each in page.elements("#choose option:disabled")}
    assert {MISSING, "ucs4", "whole-sequence"} <= grey
    assert not grey & {*COMPONENTS, "unicode", "maximal-subpart"}
    page.open("profile=ucs4")
    assert "lacks this design: the nearest rules are used" in page.said("#message")


def controls(page: LivePage) -> set[bool]:
    """The set of the controls' states: True if enabled."""
    return {each.is_enabled() for each in page.elements("#control button, #scrub")}


@pytest.mark.long
def test_wrong_input_leaves_no_run(page):
    page.open("hex=XYZ")
    assert controls(page) == {False}
    page.element("h1").click()
    page.keys(" ", Keys.RIGHT, "e", "g", "s")
    assert "XYZ" in page.said("#message")
    page.type("#hex", "41")
    assert controls(page) == {True}
    page.type("#hex", "XYZ")
    assert page.element("#tokens").is_displayed()
    page.choose("#component", "compact-decoder")
    assert not page.element("#tokens").is_displayed()


@pytest.mark.long
def test_damaged_design_can_be_loaded_again(driver, folder, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    module = tmp_path / build.DESIGNS / f"{file_of('compact-decoder', tmp_path)}.wasm"
    whole, begin = module.read_bytes(), module.stat().st_mtime
    with served(tmp_path) as address:
        page = LivePage(driver, address)
        for content, later in ((None, 10), (b"damaged", 20)):
            module.unlink()
            if content:
                module.write_bytes(content)
                os.utime(module, (begin + later, begin + later))  # a browser asks what is newer
            page.open(link(hex=CUT_SHORT.hex()))
            assert page.agrees() == "true"
            page.choose("#component", "compact-decoder")
            assert is_one_sentence(page.said("#message"))
            assert (page.agrees(), controls(page)) == ("none", {False})
            assert not page.element("#tokens").is_displayed()
            module.write_bytes(whole)
            os.utime(module, (begin + later + 5, begin + later + 5))
            page.click("#retry")
            assert (page.said("#message"), controls(page)) == ("", {True})
            assert not page.element("#retry").is_displayed()
            check_tokens(page, CUT_SHORT)
        (tmp_path / build.DESIGNS / "index.json").unlink()
        page.open()
        assert is_one_sentence(page.said("#message"))
        assert controls(page) == {False}
        page.complaints()


@pytest.mark.long
def test_odd_link_leaves_a_usable_page(page):
    page.open()
    page.follow("hex=E282&cycle=3")  # in the same page
    assert (page.cycle, joined(page.all_tokens())) == (3, "�")
    page.follow("hex=XYZ")  # replaces the input
    assert page.element("#hex").get_attribute("value") == "XYZ"
    assert page.agrees() == "none"
    for odd in ("%", "%FF%80", "&&==&", "cycle=99999", "text=%ED%A0%80", "hex=%00"):
        page.open(odd)
        assert page.cycle <= int(page.said("#cycles") or 0)
        page.type("#text", "é")
        check_tokens(page, "é".encode())


@pytest.mark.long
def test_keys_move_the_cycle(page):
    page.open(link(hex=CUT_SHORT.hex()))
    page.element("h1").click()
    seen = []
    for key in (Keys.RIGHT, Keys.RIGHT, Keys.LEFT, Keys.END, Keys.HOME, "e"):
        page.keys(key)
        seen.append(page.cycle)
    assert seen[:5] == [1, 2, 1, int(page.said("#cycles")), 0]
    assert page.tokens()[-1]["kind"] == "truncated"
    page.keys("g", "s")
    assert "gaps=" in page.script("return location.hash")
    assert "stalls=" in page.script("return location.hash")
    page.keys(" ")
    assert page.element("#run").get_attribute("aria-pressed") == "true"
    page.keys(" ")
    page.scrub(seen[5])
    for focused in ("#scrub", "#stages [data-stage='Stage 2, split'] summary"):
        page.element(focused).click()
        page.settle()
        page.keys(Keys.HOME, Keys.RIGHT, Keys.RIGHT, "e")
        assert page.cycle == seen[5]
        page.keys(Keys.HOME, Keys.RIGHT, Keys.RIGHT, Keys.LEFT)
        assert page.cycle == 1
        assert page.element(focused) == page.driver.switch_to.active_element
    page.keys("g")
    assert "gaps=1" in page.script("return location.hash")
    page.type("#text", "")
    page.element("#text").send_keys("e g s")
    page.settle()
    assert (page.cycle, page.element("#text").get_attribute("value")) == (0, "e g s")


CONTROLS = "button, select, textarea, input, a[href], summary, [tabindex]"
FOCUS = """
const at = document.activeElement, style = getComputedStyle(at);
return [[...document.querySelectorAll(arguments[0])].indexOf(at), style.outlineStyle];
"""


@pytest.mark.long
def test_controls_have_names_and_focus(page):
    page.open()
    controls = page.elements(CONTROLS)
    visible = {n for n, control in enumerate(controls) if control.is_displayed()}
    nameless = [
        controls[n].get_attribute("outerHTML")
        for n in visible
        if not controls[n].accessible_name.strip()
    ]
    assert nameless == []
    page.script("document.activeElement.blur()")
    outlines = {}
    for _ in range(2 * len(controls)):
        page.keys(Keys.TAB)
        number, outline = page.script(FOCUS, CONTROLS)
        outlines[number] = outline
    outlines.pop(-1, None)
    assert visible <= outlines.keys()
    assert "none" not in outlines.values()


# Visible text, its colour, and its background: the nearest colour that is not transparent.
COLOURS = """
const clear = (colour) => /, 0\\)$|^none$|^transparent$/.test(colour);
const behind = (element) => {
  for (let at = element; at; at = at.parentElement)
    if (!clear(getComputedStyle(at).backgroundColor)) return getComputedStyle(at).backgroundColor;
  return "rgb(255, 255, 255)";
};
const shapeBehind = (text) => {
  const { x, y, width, height } = text.getBoundingClientRect();
  const [left, top] = [x + width / 2, y + height / 2];
  return [...text.closest("svg").querySelectorAll("circle, rect, path.box")].filter((shape) => {
    const box = shape.getBoundingClientRect();
    return text.compareDocumentPosition(shape) & Node.DOCUMENT_POSITION_PRECEDING &&
      box.left <= left && left <= box.right && box.top <= top && top <= box.bottom &&
      !clear(getComputedStyle(shape).fill);
  }).map((shape) => getComputedStyle(shape).fill).at(-1);
};
const hasText = (element) => /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName) ||
  [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
return [...document.body.querySelectorAll("*")].filter((element) => hasText(element) &&
  element.checkVisibility() && !element.closest("option, title, defs")).map((element) => {
  const style = getComputedStyle(element);
  const name = [element.tagName, element.id, element.getAttribute("class"), element.textContent];
  return element instanceof SVGElement
    ? [name.join(" "), style.fill, shapeBehind(element) ?? behind(element)]
    : [name.join(" "), style.color, behind(element)];
});
"""


def luminance(colour: str) -> float:
    """Relative luminance, as defined in the Web Content Accessibility Guidelines."""
    parts = np.array(colour.strip("rgba()").split(",")[:3], dtype=float) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def contrast(*colours: str) -> float:
    low, high = sorted(luminance(colour) for colour in colours)
    return (high + 0.05) / (low + 0.05)


@contextmanager
def looked_at(page: LivePage, scheme: str, size: tuple[int, int]) -> Iterator[None]:
    """Show the page with a dark or light colour scheme, on a screen of the given size."""
    scheme_feature = {"name": "prefers-color-scheme", "value": scheme}
    screen = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size[0] < 600}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme_feature]})
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    try:
        yield
    finally:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.long
@pytest.mark.parametrize("component", ["decoder", "transcoder-4"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(page, scheme, component):
    assert contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)") == pytest.approx(21)
    with looked_at(page, scheme, SIZE):
        page.open(link(component=component, hex=CUT_SHORT.hex(), cycle=8, stalls="8"))
        page.click("#legend summary")
        page.keys("e")
        for wrong in (None, "4"):  # the second has a message
            if wrong:
                page.type("#hex", wrong)
            found = page.script(COLOURS)
            weak = [(name, *pair) for name, *pair in found if contrast(*pair) < 4.5]
            assert len(found) > 60
            assert weak == []


STYLE = """
const found = document.querySelector(arguments[0]);
const { color, backgroundColor, borderStyle, outlineStyle, textDecorationLine } =
  getComputedStyle(found);
return [color, backgroundColor, borderStyle, outlineStyle, textDecorationLine];
"""


@pytest.mark.long
def test_samples_of_the_legend_look_like_the_page(page):
    page.open(link(hex="E2 82 AC FF 41"))  # the first token has the hue of the samples
    page.click("#legend summary")
    missing = {".inside.hue-0", ".out.hue-0:not(.error)", ".out.error", ".waiting.current"}
    missing |= {".prefix", ".payload"}
    for cycle in range(int(page.said("#cycles"))):
        page.scrub(cycle)
        for part in {part for part in missing if page.elements(f"#cycle-view {part}")}:
            page_style, sample = (
                page.script(STYLE, f"{root} {part}") for root in ("#cycle-view", "#legend")
            )
            assert page_style == sample
            missing.remove(part)
    assert missing == set()


@pytest.mark.long
@pytest.mark.parametrize("component", COMPONENTS)
def test_page_fits_a_telephone(page, component):
    with looked_at(page, "light", TELEPHONE):
        for given in ("hex=F09F9880FFC0E28241", f"text={'W' * 300}", f"hex={'W' * 300}"):
            page.open(f"component={component}&cycle=9&{given}")
            assert page.script("return document.scrollingElement.scrollWidth") == TELEPHONE[0]


@pytest.mark.long
@pytest.mark.parametrize(("size", "count"), [(SIZE, 400), (TELEPHONE, 60)])
def test_current_byte_and_short_waveform(page, size, count):
    inside = """
    const box = (selector) => document.querySelector(selector).getBoundingClientRect();
    const [byte, all] = [box("#bytes .current"), box("#bytes")];
    return all.top <= byte.top && byte.bottom <= all.bottom && scrollY === 0;
    """
    with looked_at(page, "light", size):
        page.open(link(hex="41" * count))
        for cycle in (0, 1, count // 2, count - 2, 3):
            page.scrub(cycle)
            assert page.script(inside)
        for text in ("", "A"):  # a short waveform is not enlarged
            page.open(link(text=text))
            wave = page.element("#wave")
            assert 0 < wave.rect["height"] <= int(wave.get_attribute("height"))


MUTATIONS = """
window.added = 0;
new MutationObserver((changes) => {
  for (const { addedNodes } of changes) for (const node of addedNodes)
    added += 1 + (node.querySelectorAll?.("*").length ?? 0);
}).observe(document.body, { childList: true, subtree: true });
"""
PASTE = """
const [field, text] = arguments;
document.body.dataset.ready = "false";
field.value = text;
field.dispatchEvent(new Event("input"));
"""


@pytest.mark.long
@pytest.mark.parametrize("size", [140_000, 65_000])  # refused, and simulated
def test_long_input_adds_few_elements(page, size):
    page.open(link(hex=CUT_SHORT.hex()))
    page.script(PASTE, page.element("#text"), "A" * size)
    page.settle()
    assert bool(page.said("#message")) == (size > 1 << 16)
    page.script(MUTATIONS)
    page.element("h1").click()
    page.keys(Keys.END, Keys.LEFT, Keys.LEFT)
    assert page.script("return location.href.length") < 1000
    assert 0 < page.script("return added") < 3 * 4000
    page.click("#link")
    page.wait_for(lambda: "too long" in page.said("#message"))


@pytest.mark.long
def test_waveform_boxes_and_bits(page):
    values = "return [...document.querySelectorAll('#wave .value')].map((each) => each.innerHTML)"
    for stalls in ("", "2-4"):  # a value that waits has one box
        page.open(link(component="compact-decoder", hex="41 41 41", stalls=stalls))
        shown = [value.partition("<")[0] for value in page.script(values)]
        assert shown.count("41") == 2 * 3  # at both sides
    page.open(link(component="compact-decoder", hex="E2 82 AC 41", gaps="1,4"))
    pins = page.pins()
    for pin in ("i.last", "o.last", "o.error"):  # drawn only while valid
        path = page.element(f"#wave [data-pin='{pin}']").get_attribute("d")
        drawn = [int(x) for x in re.findall(r"[ML](\d+) \d+ L", path)]
        expected = [n for n, now in enumerate(pins) if now[f"{pin[0]}.valid"] == "1"]
        assert [(x - drawn[0]) // 46 for x in drawn] == [n - expected[0] for n in expected]


@pytest.mark.long
@pytest.mark.parametrize("component", ["decoder", "compact-decoder", "encoder"])
def test_state_machine_fits_its_drawing(page, component):
    boxes = """
    const box = ({ x, y, width, height }) => [x, y, x + width, y + height];
    return [box(document.querySelector("#machine").viewBox.baseVal),
      ...[...document.querySelectorAll("#machine .edge")].map((edge) => box(edge.getBBox()))];
    """
    page.open(link(component=component))
    (left, top, right, bottom), *arcs = page.script(boxes)
    margin = 2  # half of the widest line
    assert len(arcs) > 3
    assert min(arc[0] for arc in arcs) >= left + margin
    assert min(arc[1] for arc in arcs) >= top + margin
    assert max(arc[2] for arc in arcs) <= right - margin
    assert max(arc[3] for arc in arcs) <= bottom - margin


BACKGROUND = "return getComputedStyle(document.body).backgroundColor"


@contextmanager
def embedded(page: LivePage, folder: Path, setting: str) -> Iterator[WebElement]:
    """The frame with the live page in a page of the documentation, as in docs/learn.md."""
    (folder / "embedding.html").write_text(
        f"<!doctype html><link rel='icon' href='data:,'>"
        f"<object type='text/html' width='100%' height='700' id='frame' "
        f"style='border: 1px solid' data='index.html#{html.escape(setting)}'></object>"
    )
    page.driver.get(f"{page.address}embedding.html?{next(page.loads)}")
    frame = page.element("#frame")
    page.driver.switch_to.frame(frame)
    try:
        page.settle()
        yield frame
    finally:
        page.driver.switch_to.default_content()
        (folder / "embedding.html").unlink()


@pytest.mark.long
@pytest.mark.parametrize("size", [SIZE, TELEPHONE])
@pytest.mark.parametrize("setting", EMBEDDED)
def test_embedded_page_shows_its_link_in_full_height(page, folder, setting, size):
    heights = "const { scrollHeight, clientHeight } = document.documentElement;"
    with looked_at(page, "light", size), embedded(page, folder, setting):
        assert (page.said("#message"), page.agrees()) == ("", "true")
        assert f"cycle={page.cycle}" in setting
        parts = {"h1": False, "#choose": False, "#examples": False}
        parts |= dict.fromkeys(("#text", "#hex", "#step", "#tokens"), True)
        assert {part: page.element(part).is_displayed() for part in parts} == parts
        for cycle in (page.cycle, 0, int(page.said("#cycles"))):
            page.scrub(cycle)
            page.wait_for(lambda: page.script(f"{heights} return scrollHeight === clientHeight"))
            empty = "return innerHeight - document.body.getBoundingClientRect().height"
            assert page.script(empty) < 120  # it does not shrink in steps


@pytest.mark.long
def test_theme_of_the_documentation_is_used(page, folder):
    light, dark = "rgb(255, 255, 255)", "rgb(19, 20, 22)"
    set_theme = "localStorage.setItem('theme', arguments[0])"
    colours = {"light": light, "dark": dark, "auto": light}
    try:
        for theme, colour in colours.items():
            page.open()
            page.script(set_theme, theme)
            page.open()
            assert page.script(BACKGROUND) == colour
        with embedded(page, folder, "embed=1"):
            for theme, colour in colours.items():
                page.driver.switch_to.default_content()
                page.script(set_theme, theme)
                page.driver.switch_to.frame(page.element("#frame"))
                page.wait_for(lambda colour=colour: page.script(BACKGROUND) == colour)
    finally:
        page.script("localStorage.clear()")


ISSUE = "E2 82 41 42 E2 82 AC"
MISSING_BYTES = {f"{word} byte": n for n, word in enumerate(("one", "two", "three"), start=1)}


def test_sentence_of_a_cycle(page):
    page.open(link(hex=ISSUE))
    sentences = page.texts("#sentence")
    whole = "E2 is accepted; on E2: START to NEED_2; no token, two bytes are missing."
    assert sentences[5] == whole
    assert sentences[9].endswith(
        "START to NEED_2, two bytes are missing; token truncated is taken."
    )


@pytest.mark.long
@pytest.mark.parametrize("component", DECODERS)
def test_sentences_agree_with_simulator(page, component):
    stalls = {"gaps": {3}, "stalls": {9, 10, 11}}
    given = {side: ",".join(map(str, sorted(cycles))) for side, cycles in stalls.items()}
    design = DECODERS[component]
    page.open(link(component=component, hex=CUT_SHORT.hex(), **given))
    sentences = page.texts("#sentence")
    states = {state.value: state.name for state in design.State}
    cycles = simulated(design, CUT_SHORT, **stalls)
    counted = 0
    for said, now, then in zip(sentences[:-1], cycles, cycles[1:], strict=False):
        is_accepted = bool(now["i.valid"] and now["i.ready"])
        assert said.startswith(f"{now['i.data']:02X} is accepted") == is_accepted
        assert ("no token" in said) == (not now["o.valid"])
        assert ("is taken" in said) == bool(now["o.valid"] and now["o.ready"])
        before, after = states[now["state"]], states[then["state"]]
        assert (f"{before} to {after}" in said) == (before != after)
        if after not in (before, "HELD"):
            missing = next((n for text, n in MISSING_BYTES.items() if text in said), 0)
            assert missing == int(after.removeprefix("NEED_").replace("START", "0"))
            counted += missing > 0
    assert counted > 3


BITS = """
return [...document.querySelectorAll("#bits li")].map((item) => [
  [...item.querySelectorAll(".byte")].map((byte) =>
    ["b", ".prefix", ".payload"].map((part) => byte.querySelector(part).textContent)),
  item.lastElementChild.textContent]);
"""


@pytest.mark.long
def test_bits_are_assembled(page):
    text = "A©≠😀"
    page.open(link(component="compact-decoder", text=text))
    shown = chain.from_iterable(page.in_each_cycle(BITS))
    found = {meaning: sequence for sequence, meaning in shown}
    assert [meaning[-1] for meaning in found] == list(text)
    for character, (meaning, sequence) in zip(text, found.items(), strict=True):
        assert meaning == f"U+{ord(character):04X} {character}"
        assert bytes(int(byte[0], 16) for byte in sequence) == character.encode()
        assert all(f"{int(name, 16):08b}" == a + b for name, a, b in sequence)
        assert int("".join(payload for _, _, payload in sequence), 2) == ord(character)


@pytest.mark.long
def test_buttons_find_tokens_and_states(page):
    page.open(link(hex=ISSUE))
    cycles = simulated(Decoder(), bytes.fromhex(ISSUE))
    last = int(page.said("#cycles"))
    pairs = list(zip(range(1, last + 1), cycles, cycles[1:], strict=False))
    tokens = [
        n for n, was, now in pairs if now["o.valid"] and (not was["o.valid"] or was["o.ready"])
    ]
    states = [n for n, was, now in pairs if now["state"] != was["state"]]
    for button, expected in (("#next-token", tokens), ("#next-state", states)):
        page.click("#first")
        seen = []
        for _ in expected:
            page.click(button)
            seen.append(page.cycle)
        assert seen == expected
        page.click(button)
        assert is_one_sentence(page.said("#message"))


LINKED = "return [...document.querySelectorAll(arguments[0])].map((part) => part.dataset.link)"


@pytest.mark.long
def test_pointer_links_byte_stage_token_and_wave(page):
    page.open(link(hex="41 E2 82 AC 42"))
    page.click("#next-token", "#next-token")
    assert page.tokens()[-1]["text"] == "€"
    ActionChains(page.driver).move_to_element(page.elements("#tokens li")[-1]).perform()
    assert page.script(LINKED, "#bytes .linked") == ["1", "2", "3"]
    assert page.script(LINKED, "#tokens .linked") == ["1 2 3"]
    assert "1 2 3" in page.script(LINKED, "#wave .linked")
    ActionChains(page.driver).move_to_element(page.element("#bytes [data-offset='4']")).perform()
    assert page.script(LINKED, "#bytes .linked") == ["4"]
    assert set(page.script(LINKED, "#stages .linked")) == {"4"}


@pytest.mark.long
def test_two_designs_share_bytes_and_cursor(page):
    stalls = {"stalls": {5, 6}}
    page.open(link(hex=ISSUE, stalls="5,6", beside="structure", cycle=4))
    assert page.data("#panes .machine .current")[1]["state"] == "HELD"
    assert "same tokens" in page.said("#difference")
    expected = simulated(CompactDecoder(), bytes.fromhex(ISSUE), **stalls)
    assert differing(CompactDecoder(), page, expected, ".pane:nth-child(2) .pins") == set()
    page.choose("#beside", "")
    assert len(page.elements(".pane")) == 1


@pytest.mark.long
def test_waveform_is_zoomed_and_moved(page):
    page.open(link(hex="41" * 200, cycle=100))

    def look() -> list[int]:
        wave = page.element("#wave")
        return [int(wave.get_attribute(f"data-{name}")) for name in ("begin", "count")]

    begin, count = look()
    assert begin < 100 < begin + count
    page.click("[data-wave=out]")
    assert look()[1] > 1.5 * count
    page.element("h1").click()
    page.keys("+")
    page.click("[data-wave=later]")
    assert look() == [begin + round(count / 2), count]
    page.click("[data-wave=cursor]")
    assert look() == [begin, count]
    ActionChains(page.driver).drag_and_drop_by_offset(page.element("#wave"), -200, 0).perform()
    assert look()[0] > begin
    assert page.cycle == 100
    assert "gaps" not in page.script("return location.hash")
    page.click("#step")
    assert look() == [begin + 1, count]


SAVE = "URL.createObjectURL = (blob) => { window.saved = blob.text(); return '#'; };"
SAVED = "saved.then(arguments[0])"


@pytest.mark.long
def test_vcd_equals_simulator(page, tmp_path):
    page.open(link(hex=ISSUE, stalls="9", beside="structure"))
    page.script(SAVE)
    page.click("[data-wave=vcd]")
    text = page.driver.execute_async_script(SAVED)
    names, now, rows, time, scopes = {}, {}, [], None, []
    for line in text.splitlines():
        words = line.split()
        if line.startswith("$scope"):
            scopes.append(words[2])
        elif line.startswith("$var"):
            names[words[3]] = (len(scopes), words[4])
        elif line.startswith("#"):
            if time is not None and time % 10 == 0:
                rows.append(dict(now))
            time = int(line[1:])
        elif time is not None:
            value, name = (words[0][1:], words[1]) if line[0] == "b" else (line[0], line[1:])
            now[names[name]] = int(value, 2)
    assert scopes == ["decoder_maximal_subpart", "compact_decoder_maximal_subpart"]
    assert len(rows) == int(page.said("#cycles")) + 1
    for number, design in enumerate((Decoder(), CompactDecoder()), start=1):
        expected = simulated(design, bytes.fromhex(ISSUE), stalls={9})
        for row, cycle in zip(rows, expected, strict=False):
            assert {name: row[number, name.replace(".", "_")] for name in cycle} == cycle


@pytest.mark.long
@pytest.mark.parametrize(
    "given", [{"hex": ISSUE}, {"component": "compact-decoder", "text": "it's €", "stalls": "4-6"}]
)
def test_command_simulates_the_same(page, given):
    page.open(link(**given))
    program, command, *words = shlex.split(page.said("#command"))
    assert (program, command) == ("utf8-hdl", "simulate")
    tokens = [(t["offset"], t["length"], t["error"] or "none") for t in told(*words)]
    assert tokens == spans(page.all_tokens())
    assert ("--stall-output-cycles" in words) == ("stalls" in given)


@pytest.mark.long
def test_control_bar_stays_in_view_on_a_telephone(page):
    with looked_at(page, "light", TELEPHONE):
        page.open(link(hex=ISSUE))
        page.script("scrollTo(0, document.documentElement.scrollHeight)")
        assert page.element("#control").location["y"] > TELEPHONE[1]
        buttons = page.elements("#control button")
        assert all(each.rect["x"] + each.rect["width"] <= TELEPHONE[0] for each in buttons)
        assert page.element("#control").rect["height"] < 150
        top = "return document.querySelector('#control').getBoundingClientRect().top"
        assert page.script(top) == 0
        page.click("#step")
        assert page.cycle == 1


@pytest.mark.long
@pytest.mark.parametrize("size", [SIZE, TELEPHONE])
def test_variants_can_be_read_and_compared(page, size):
    """Both error spans, and the state machine of sequences of eight bytes."""
    scale = """
    const svg = document.querySelector("#machine");
    return [svg.getBoundingClientRect().width / svg.viewBox.baseVal.width,
      svg.querySelectorAll("circle").length];
    """
    visible = "return getComputedStyle(document.querySelector(arguments[0])).visibility"
    with looked_at(page, "light", size):
        page.open(link(component="compact-decoder", hex="E08080", beside="error-span"))
        page.click("#last")
        assert len(page.data("#tokens [data-offset]")) == 3
        assert len(page.data(".pane:nth-child(2) .tokens [data-offset]")) == 1
        assert "differ from offset 0" in page.said("#difference")
        page.open(link(component="compact-decoder", profile="extended", hex="FE8280 41", cycle=4))
        assert page.script(scale) == [1, len(CompactDecoder(EXTENDED).State)]
        assert page.script(visible, "#machine .rare:not(.taken, .next)") == "hidden"
        steps = page.texts("#sentence")
        page.scrub(next(n for n, said in enumerate(steps) if "NEED_4 to HELD" in said))
        assert page.script(visible, "#machine .rare.next") == "visible"


@pytest.mark.long
def test_broken_gateware_differs(driver, folder, tmp_path):
    copy = broken("range: E0 9F is not overlong")
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    write_page_module(copy, tmp_path / build.DESIGNS, file_of("decoder", tmp_path))
    data = bytes.fromhex("E0 9F BF 41")
    with served(tmp_path) as address:
        page = LivePage(driver, address)
        page.open(link(hex=data.hex()))
        assert page.agrees() == "false"
        assert joined(page.all_tokens()) != data.decode("utf-8", "replace")
        expected = simulated(Decoder(), data)
        assert "o.code_point" in differing(copy, page, expected)


def test_console_error_is_found(page):
    page.open()
    page.script("setTimeout(() => { throw new Error('on purpose'); })")
    assert page.wait_for(page.complaints)
