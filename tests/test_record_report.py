"""What a run leaves behind: patches that git takes, reports that say what happened, a folder that survives accidents."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
import time
from pathlib import Path

import jsonschema
import pytest
from record_samples import AFTER, BEFORE, CHANGE, Tree, healed_outcome, run_report, unhealed_outcome

from pytest_selfheal.errors import RecordError
from pytest_selfheal.record.find import find_base, find_run
from pytest_selfheal.record.report import finish, report_json, write_outcome
from pytest_selfheal.record.run_dir import is_active, open_run
from pytest_selfheal.record.stored import load_run
from pytest_selfheal.types import FileChange

WORD = {"type": "string"}
COUNT = {"type": "integer", "minimum": 0}
NUMBER = {"type": "number", "minimum": 0}
MAYBE = {"type": ["string", "null"]}
COST = {"type": ["number", "null"]}


def exactly(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def listed(items: object) -> dict[str, object]:
    return {"type": "array", "items": items}


SCHEMA = exactly(
    version={"const": 1},
    tool=WORD,
    python=WORD,
    pytest=WORD,
    started={"type": "string", "pattern": "Z$"},
    seconds=NUMBER,
    exit_status=COUNT,
    model=WORD,
    critic=MAYBE,
    strategy=WORD,
    sandbox=WORD,
    stop=WORD,
    failures=listed(
        exactly(
            id={"type": "string", "pattern": "^[0-9]{4}$"},
            nodeids=listed(WORD),
            phase={"enum": ["call", "setup", "teardown", "collect"]},
            kind=WORD,
            exception=WORD,
            message=WORD,
            location=exactly(path=WORD, line=COUNT, function=WORD),
            status={"enum": ["healed", "unhealed", "skipped"]},
            reason=WORD,
            confidence={"enum": ["high", "medium", "low", None]},
            attempts=listed(
                exactly(
                    n=COUNT,
                    proposer=WORD,
                    model=MAYBE,
                    diagnosis=WORD,
                    diff=WORD,
                    verdict=WORD,
                    reason=WORD,
                    critic_score={"type": ["integer", "null"]},
                    prompt_tokens=COUNT,
                    completion_tokens=COUNT,
                    cost_usd=COST,
                    seconds=NUMBER,
                )
            ),
            candidates_tried=COUNT,
            patch=MAYBE,
            alternatives=COUNT,
            verified=exactly(failing_now_pass=listed(WORD), affected_pass=COUNT, repeats=COUNT),
            generated_tests=listed(WORD),
        )
    ),
    totals=exactly(failures=COUNT, healed=COUNT, cost_usd=COST, tokens=COUNT, seconds=NUMBER),
)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "repo", {"calc.py": BEFORE})


def test_report_json_has_the_fields_of_version_1_and_no_others(tree: Tree) -> None:
    run = tree.record(healed_outcome(), unhealed_outcome())
    data = json.loads((run.folder / "report.json").read_bytes())
    jsonschema.validate(data, SCHEMA)
    assert data["totals"]["cost_usd"] is None  # one price is unknown: so is the sum
    assert [failure["patch"] for failure in data["failures"]] == ["patches/0001-test-add.patch", None]
    assert data["failures"][0]["location"] == {"path": "calc.py", "line": 2, "function": "add"}


def test_the_folder_holds_what_was_promised_and_git_ignores_it(tree: Tree) -> None:
    run = tree.record(healed_outcome(), unhealed_outcome())
    names = {path.relative_to(run.folder).as_posix() for path in run.folder.rglob("*") if path.is_file()}
    assert names == {
        "report.json", "report.md", "report.html", "trace.jsonl", "all.patch",
        "patches/0001-test-add.patch", "failures/0002-test-add.md",
    }  # fmt: skip
    assert (tree.top / ".selfheal/latest").resolve() == run.folder
    assert tree.git("status", "--porcelain") == ""


@pytest.mark.parametrize("how", ["apply", "am"])
@pytest.mark.parametrize(
    "outcome",
    [
        healed_outcome(),
        healed_outcome(description="größer als — »alles« " + "very long " * 20, message="ünïcode"),
        healed_outcome(message="---\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nFrom me\n-- \n"),
        healed_outcome(description="a\nb\tc\x1b[31m", note="From here\n---\n>From there"),
        healed_outcome(changes=(CHANGE, FileChange("ü dir/new.py", None, b"x = '\xe9'"))),
    ],
    ids=["plain", "unicode and long", "message like a patch", "control characters", "new latin-1 file"],
)
def test_a_patch_is_taken_by_git_apply_and_git_am(tree: Tree, outcome, how: str) -> None:  # type: ignore[no-untyped-def]
    run = tree.record(outcome)
    patch = str(run.folder / outcome.but(patch_file="patches/0001-test-add.patch").patch_file)
    tree.git(how, *(["-q"] if how == "am" else []), patch)
    for change in outcome.patch.changes:
        assert tree.read(change.path) == change.after
    if how == "am":
        assert tree.git("status", "--porcelain") == ""
        assert "Selfheal-Id: 0001" in tree.git("log", "-1", "--format=%B")


def test_all_patch_holds_every_patch_that_does_not_conflict(tree: Tree) -> None:
    tree.write("b.py", b"x = 1\n")
    tree.commit()
    outcomes = [
        healed_outcome(),
        healed_outcome("0002", changes=(FileChange("b.py", b"x = 1\n", b"x = 2\n"),)),
        healed_outcome("0003", changes=(FileChange("calc.py", BEFORE, BEFORE.replace(b"-", b"*")),)),
    ]
    run = tree.record(*outcomes)
    tree.git("apply", str(run.folder / "all.patch"))
    assert (tree.read("calc.py"), tree.read("b.py")) == (AFTER, b"x = 2\n")
    assert "conflict with an earlier one: 0003" in (run.folder / "all.patch").read_text()


def test_secrets_are_hidden_everywhere_but_in_the_diff(tree: Tree) -> None:
    secret = "hunter2hunter2"
    change = FileChange("calc.py", BEFORE, AFTER + b"# " + secret.encode() + b"\n")
    run = open_run(
        tree.top / ".selfheal", top=tree.top, rootdir=tree.top, hide=lambda text: text.replace(secret, "<secret 1>")
    )
    outcomes = [
        healed_outcome(message=f"got {secret}", changes=(change,), note=secret),
        unhealed_outcome(message=secret, words=secret, text=secret, evidence=(secret,)),
    ]
    finish(run, run_report([write_outcome(run, outcome, tree) for outcome in outcomes]))
    run.close()
    for path in run.folder.rglob("*"):
        if path.is_file():
            text = path.read_text("utf-8")
            head = text.partition("diff --git ")[0] if path.suffix == ".patch" else text
            assert secret not in head, path
    assert secret in (run.folder / "patches/0001-test-add.patch").read_text()


def test_a_patch_that_is_not_what_it_says_is_never_written(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_selfheal.record import report

    monkeypatch.setattr(report, "make_diff", lambda changes: b"")
    run = open_run(tree.top / ".selfheal", top=tree.top, rootdir=tree.top)
    with pytest.raises(RecordError):
        write_outcome(run, healed_outcome(), tree)
    run.close()
    assert not (run.folder / "patches").exists()


def test_a_run_that_was_killed_is_still_readable(tree: Tree) -> None:
    run = open_run(tree.top / ".selfheal", top=tree.top, rootdir=tree.top)
    write_outcome(run, healed_outcome(), tree)
    with (run.folder / "trace.jsonl").open("a") as trace:
        trace.write('{"t": 3, "event": "outc')
    assert is_active(run.folder)
    run.close()
    assert not is_active(run.folder)
    stored = load_run(find_run(tree.top))
    assert stored.report()["stop"] == "interrupted"
    assert stored.report()["totals"]["healed"] == 1
    assert [patch.id for patch in stored.select([])] == ["0001"]


def test_runs_at_the_same_time_have_folders_of_their_own(tree: Tree) -> None:
    runs = []
    threads = [
        threading.Thread(target=lambda: runs.append(open_run(tree.top / ".selfheal", top=tree.top, rootdir=tree.top)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({run.folder for run in runs}) == 8
    for run in runs:
        finish(run, run_report([]))
        run.close()


def test_a_place_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match=r"cannot write .*: not a directory; .*--selfheal-dir"):
        open_run(tmp_path / "file" / ".selfheal", top=tmp_path, rootdir=tmp_path)


def test_where_links_do_not_work_latest_is_a_copy(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(self: Path, target: object, target_is_directory: bool = False) -> None:
        raise OSError(1, "privilege not held")

    monkeypatch.setattr(Path, "symlink_to", no_links)
    for _ in range(2):
        run = tree.record(healed_outcome())
        latest = tree.top / ".selfheal/latest"
        assert not latest.is_symlink()
        assert (latest / "report.json").read_bytes() == (run.folder / "report.json").read_bytes()


def test_runs_are_found_above_and_below_and_the_newest_wins(tree: Tree, tmp_path: Path) -> None:
    assert find_base(tmp_path) is None
    tree.record(healed_outcome())
    (tree.top / "a/b").mkdir(parents=True)
    for start in (tmp_path, tree.top, tree.top / "a/b", tree.top / ".selfheal"):
        assert find_base(start) == (tree.top / ".selfheal").resolve()
    newer = tree.top / "a/.selfheal/runs" / time.strftime("%Y%m%dT%H%M%SZ-zzzz", time.gmtime())
    newer.mkdir(parents=True)
    (newer / "trace.jsonl").touch()
    assert find_base(tree.top) == (tree.top / "a/.selfheal").resolve()


def test_a_run_from_before_the_clock_was_set_back_is_not_the_newest(tree: Tree) -> None:
    old = tree.record(healed_outcome()).folder
    old.rename(old.with_name("29991231T000000Z-abcd"))
    assert tree.record(unhealed_outcome("0001")).folder == find_run(tree.top)


def test_a_failure_report_says_why_what_was_tried_and_what_next(tree: Tree) -> None:
    run = tree.record(unhealed_outcome("0001", evidence=("the docstring says 3",), text="```\nE assert\n```"))
    text = next((run.folder / "failures").iterdir()).read_text()
    for words in (
        "no change that was tried",
        "--selfheal-effort thorough",
        "special-casing",
        "return 3",
        "docstring says 3",
    ):
        assert words in text
    assert "````" in text  # a fence that the content cannot close


def test_undecodable_names_are_recorded(tree: Tree) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    tree.write(name, b"x = 1\n")
    run = tree.record(
        healed_outcome(changes=(FileChange(name, b"x = 1\n", b"x = 2\n"),)), unhealed_outcome(nodeid="t.py::x\udc80")
    )
    assert run.select([])[0].files[0].path == name
    json.loads((run.folder / "report.json").read_bytes())


def test_an_empty_report_has_no_unknown_price() -> None:
    assert report_json(run_report([]))["totals"]["cost_usd"] == 0.0


MADE = {
    "words": "generated tests: 2 kept, 1 dropped; 1 of 1 function has tests",
    "table": [["function", "tests"], ["calc.py::add|sub", "2 of 3"]],
    "patch": "patches/0001-generated-tests.patch",
}


def test_generated_tests_have_a_place_in_every_report(tree: Tree) -> None:
    run = tree.record(healed_outcome().but(generated_tests=("tests/test_new.py",)), test_generation=MADE)
    data = json.loads((run.folder / "report.json").read_bytes())
    assert data["failures"][0]["generated_tests"] == ["tests/test_new.py"]
    assert data["test_generation"]["words"] == MADE["words"]
    markdown, html = (run.folder / "report.md").read_text(), (run.folder / "report.html").read_text()
    assert "| calc.py::add\\|sub | 2 of 3 |" in markdown
    assert "2 kept, 1 dropped" in html
    assert "<td>calc.py::add|sub</td>" in html


def test_an_outcome_that_is_told_twice_counts_once(tree: Tree) -> None:
    run = open_run(tree.top / ".selfheal", top=tree.top, rootdir=tree.top)
    outcome = write_outcome(run, healed_outcome(), tree)
    test = FileChange("tests/test_more.py", None, b"def test(): pass\n")
    assert outcome.patch is not None
    more = outcome.but(patch=dataclasses.replace(outcome.patch, changes=(CHANGE, test)), generated_tests=(test.path,))
    write_outcome(run, more, tree)
    run.close()
    stored = load_run(run.folder)
    assert stored.report()["totals"]["failures"] == 1
    assert [file.path for file in stored.select([])[0].files] == ["calc.py", "tests/test_more.py"]
    assert (run.folder / "tests/test_more.py").read_bytes() == test.after
