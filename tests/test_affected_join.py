"""Failures that only look different are healed once; causes that are different stay apart."""

from __future__ import annotations

from pathlib import Path

from pytest_selfheal.testing import Example

FAST = ("--selfheal", "--selfheal-effort", "fast", "-p", "selfheal", "-p", "no:cacheprovider")
AUTOLOAD_OFF = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def test_many_failures_of_two_causes_are_two_repairs(tmp_path: Path) -> None:
    test = "from calc import add, double\n"
    for n in range(3, 9):
        test += f"\n\ndef test_add_{n}():\n    assert add({n}, 1) == {n + 1}\n    assert add(1, {n}) == {n + 1}\n"
        test += f"\n\ndef test_double_{n}():\n    assert double({n}) == {2 * n}\n"
    code = "def add(a, b):\n    return a - b\n\n\ndef double(a):\n    return a * 3\n"
    example = Example({"calc.py": code, "test_calc.py": test, "pytest.ini": "[pytest]\npythonpath = .\n"}, tmp_path)
    result = example.run(*FAST, environment=AUTOLOAD_OFF, timeout=300)
    assert result.code == 1, result.stdout + result.stderr
    failures = result.report["failures"]
    assert [failure["status"] for failure in failures] == ["healed", "healed"], result.stdout
    for failure, name in zip(sorted(failures, key=lambda f: str(f["nodeids"])), ("add", "double"), strict=True):
        nodeids = [f"test_calc.py::test_{name}_{n}" for n in range(3, 9)]
        assert sorted(failure["nodeids"]) == nodeids
        assert sorted(failure["verified"]["failing_now_pass"]) == nodeids
    assert len(list((result.run_dir / "patches").glob("0*.patch"))) == 2
