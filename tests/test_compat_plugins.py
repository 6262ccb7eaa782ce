"""Other plugins, installed for real, beside ours: each run heals the one bug and leaves the other plugin's work as it was."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from compat import INI, TEST, Cell, cells, run

from pytest_selfheal.testing import Result

pytestmark = pytest.mark.compat

CRASH = (
    TEST + "\n\ndef test_crash():\n    import os\n\n    if 'PYTEST_XDIST_WORKER' in os.environ:\n        os._exit(3)\n"
)
ODD_REPORT = """\
import pathlib

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    report.sections.append(("odd", "lone surrogate \\\\udc80, é"))
    return report
"""
SURROGATE = """\
from calc import add


def test_add():
    odd = b"\\x80".decode("ascii", "surrogateescape")  # among the locals, which we keep
    assert add(1, 2) == 3
    assert add(-1, 4) == 3
"""
ASYNC = """\
import asyncio

import pytest
from calc import add


{mark}async def test_add():
    await asyncio.sleep(0)
    assert add(1, 2) == 3
    assert add(-1, 4) == 3


{mark}async def test_nothing():
    await asyncio.sleep(0)
    assert add(0, 0) == 0
"""
ASYNC_FIXTURE = """\
import pytest_asyncio
from calc import add


@pytest_asyncio.fixture
async def three():
    return 3


async def test_add(three):
    assert add(1, 2) == three
    assert add(-1, 4) == three
"""
MOCK = """\
import calc


def test_add(mocker):
    spy = mocker.spy(calc, "add")
    assert calc.add(1, 2) == 3
    assert calc.add(-1, 4) == 3
    assert spy.call_count == 2
"""
RANDOM = """\
import random

from calc import add


def test_add():
    a, b = random.randint(1, 9), random.randint(1, 9)
    total = sum((a, b))
    assert add(a, b) == total
    assert add(0, b) == b


def test_nothing():
    assert add(0, 0) == 0
"""
FLAKY_AT_FIRST = (
    TEST
    + """

import pathlib


def test_at_the_second_go():
    seen = pathlib.Path(__file__).with_name("seen")
    if not seen.exists():
        seen.touch()
        raise AssertionError("the first go fails")
"""
)
ENDLESS = """\
def count_down(n):
    steps = 0
    while n > 0:
        n += 1
        steps += 1
    return steps
"""
BENCHMARK = """\
from calc import add


def test_speed(benchmark):
    assert benchmark.pedantic(add, args=(1, 2), rounds=2) == 3


def test_add():
    assert add(-1, 4) == 3
    assert add(5, 0) == 5
"""
HYPOTHESIS = """\
from calc import add
from hypothesis import given
from hypothesis import strategies as st


@given(st.integers(-1000, 1000), st.integers(-1000, 1000))
def test_add(a, b):
    assert add(a, b) == sum((a, b))


def test_example():
    assert add(1, 2) == 3
"""
FEATURE = """\
Feature: adding
    Scenario: two numbers
        Given the numbers 1 and 2
        When they are added
        Then the sum is 3
"""
BDD = """\
import pytest
from calc import add
from pytest_bdd import given, parsers, scenarios, then, when

scenarios("adding.feature")


@given(parsers.parse("the numbers {a:d} and {b:d}"), target_fixture="numbers")
def numbers(a, b):
    return a, b


@when("they are added", target_fixture="total")
def total(numbers):
    return add(*numbers)


@then(parsers.parse("the sum is {wanted:d}"))
def check(total, wanted):
    assert total == wanted


def test_more():
    assert add(-1, 4) == 3
"""
SUBTESTS = """\
from calc import add


def test_add(subtests):
    for a, b, total in ((0, 0, 0), (1, 2, 3), (-1, 4, 3)):
        with subtests.test(a=a):
            assert add(a, b) == total
"""
EXPECTED_FAILURE = """

@pytest.mark.xfail(strict=True)
def test_known():
    assert add(2, 2) == 5
"""
INLINE_SNAPSHOT = """\
from calc import add
from inline_snapshot import snapshot


def test_add():
    assert add(1, 2) == snapshot(3)
    assert add(-1, 4) == snapshot(3)


def test_nothing():
    assert add(0, 0) == snapshot(0)
"""
SYRUPY = """\
from calc import add


def test_add(snapshot):
    assert add(1, 2) == snapshot
    assert add(-1, 4) == 3
"""
AMBR = "# serializer version: 1\n# name: test_add\n  3\n# ---\n"
DJANGO = {
    "manage.py": "",
    "site_settings.py": (
        "SECRET_KEY = 'x'\n"
        "INSTALLED_APPS = ['shop']\n"
        "DATABASES = {'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': 'db.sqlite3'}}\n"
        "DEFAULT_AUTO_FIELD = 'django.db.models.BigAutoField'\n"
        "USE_TZ = True\n"
        "ROOT_URLCONF = 'site_urls'\n"
        "ALLOWED_HOSTS = ['*']\n"
    ),
    "site_urls.py": (
        "from django.http import HttpResponse\n"
        "from django.urls import path\n"
        "from shop.models import Item\n\n"
        "urlpatterns = [path('total', lambda request: HttpResponse(str(Item.total())))]\n"
    ),
    "shop/__init__.py": "",
    "shop/migrations/__init__.py": "",
    "shop/models.py": (
        "from calc import add\n"
        "from django.db import models\n\n\n"
        "class Item(models.Model):\n"
        "    price = models.IntegerField()\n\n"
        "    @classmethod\n"
        "    def total(cls):\n"
        "        total = 0\n"
        "        for item in cls.objects.order_by('id'):\n"
        "            total = add(total, item.price)\n"
        "        return total\n"
    ),
    "shop/migrations/0001_initial.py": (
        "from django.db import migrations, models\n\n\n"
        "class Migration(migrations.Migration):\n"
        "    initial = True\n"
        "    dependencies = []\n"
        "    operations = [migrations.CreateModel('Item', [\n"
        "        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),\n"
        "        ('price', models.IntegerField()),\n"
        "    ])]\n"
    ),
}
DJANGO_TEST = """\
import pytest
from calc import add
from shop.models import Item


def test_add():
    assert add(1, 2) == 3
    assert add(5, 0) == 5


@pytest.mark.django_db
def test_total():
    Item.objects.create(price=1)
    Item.objects.create(price=2)
    assert Item.total() == 3


@pytest.mark.django_db
def test_page(client):
    Item.objects.create(price=4)
    assert client.get("/total").content == b"4"


@pytest.mark.django_db
def test_no_items():
    assert Item.total() == 0
"""
DJANGO_TESTCASE = """\
from calc import add
from django.test import TestCase
from shop.models import Item


class TotalTest(TestCase):
    def test_add(self):
        self.assertEqual(add(1, 2), 3)
        self.assertEqual(add(5, 0), 5)

    @classmethod
    def setUpTestData(cls):
        Item.objects.create(price=1)
        Item.objects.create(price=2)

    def test_total(self):
        self.assertEqual(Item.total(), 3)

    def test_client(self):
        self.assertEqual(self.client.get("/total").content, b"3")
"""
DJANGO_INI = INI + "DJANGO_SETTINGS_MODULE = site_settings\n"


def coverage_data_is_of_the_users_run(result: Result) -> None:
    with sqlite3.connect(result.folder / ".coverage") as data:
        measured = {Path(row[0]).name for row in data.execute("select path from file")}
        places = {str(Path(row[0]).parent) for row in data.execute("select path from file")}
    data.close()
    assert "calc.py" in measured
    assert places == {str(result.folder)}
    assert "TOTAL" in result.stdout


def contexts_are_whole(result: Result) -> None:
    coverage_data_is_of_the_users_run(result)
    with sqlite3.connect(result.folder / ".coverage") as data:
        contexts = {row[0] for row in data.execute("select context from context")}
    data.close()
    assert "test_calc.py::test_add|run" in contexts


def html_is_whole(result: Result) -> None:
    text = (result.folder / "report.html").read_text("utf-8")
    assert "test_calc.py::test_add" in text


def json_is_whole(result: Result) -> None:
    summary = json.loads((result.folder / "report.json").read_text("utf-8"))["summary"]
    assert (summary["failed"], summary["passed"]) == (1, 1)


def was_seen_at_once(result: Result) -> None:
    assert result.stdout.index("assert -1 == 3") < result.stdout.index("self-heal")


def crash_is_told(result: Result) -> None:
    reasons = {tuple(failure["nodeids"]): failure["status"] for failure in result.report["failures"]}
    assert reasons[("test_calc.py::test_add",)] == "healed"
    assert reasons[("test_calc.py::test_crash",)] == "skipped"


def it_is_a_timeout(result: Result) -> None:
    [failure] = result.report["failures"]
    assert failure["kind"] == "timeout"
    assert failure["status"] == "healed"


def reruns_stay(result: Result) -> None:
    assert "rerun" in result.stdout


def expected_failures_stay(result: Result) -> None:
    """An expected failure under ``--reruns`` is neither run again nor ours to heal."""
    assert "1 xfailed" in result.stdout
    assert len(result.report["failures"]) == 1


def teardown_comes_again(result: Result) -> None:
    """What the plugin says at teardown is seen again too: the patch is known to end it, and it is no failure of its own."""
    assert "ERROR test_calc.py::test_add" in result.stdout
    assert [failure["status"] for failure in result.report["failures"]] == ["healed"]


def inline_snapshot_stays(result: Result) -> None:
    assert (result.folder / "test_calc.py").read_text() == INLINE_SNAPSHOT


def snapshot_stays(result: Result) -> None:
    assert (result.folder / "__snapshots__/test_calc.ambr").read_text() == AMBR


XDIST = ("xdist",)
COV = ("pytest_cov",)


@cells(
    [
        Cell("xdist -n 2", ("-n", "2"), plugins=XDIST, needs=("xdist",)),
        Cell("xdist --dist loadscope", ("-n", "2", "--dist", "loadscope"), plugins=XDIST, needs=("xdist",)),
        Cell("xdist --dist loadfile", ("-n", "2", "--dist", "loadfile"), plugins=XDIST, needs=("xdist",)),
        Cell("xdist --dist each", ("-n", "2", "--dist", "each"), plugins=XDIST, needs=("xdist",)),
        Cell("xdist -n 0", ("-n", "0"), plugins=XDIST, needs=("xdist",)),
        Cell("xdist in addopts", ini=INI + "addopts = -n 2 --dist worksteal\n", plugins=XDIST, needs=("xdist",)),
        Cell("xdist -x", ("-n", "2", "-x"), code=2, plugins=XDIST, needs=("xdist",)),
        Cell("xdist, a worker crashes", ("-n", "2"), test=CRASH, plugins=XDIST, needs=("xdist",), check=crash_is_told),
        Cell(
            "xdist, a module does not collect",
            ("-n", "2"),
            files={"test_broken.py": "import nowhere_to_be_found\n"},
            plugins=XDIST,
            needs=("xdist",),
        ),
        Cell("xdist, a lone surrogate", ("-n", "2"), test=SURROGATE, plugins=XDIST, needs=("xdist",)),
        Cell(
            "xdist, odd sections of another plugin",
            ("-n", "2"),
            files={"conftest.py": ODD_REPORT},
            plugins=XDIST,
            needs=("xdist",),
        ),
        Cell("cov", ("--cov=.",), plugins=COV, needs=("pytest_cov",), check=coverage_data_is_of_the_users_run),
        Cell(
            "cov --cov-context=test",
            ("--cov=.", "--cov-context=test"),
            plugins=COV,
            needs=("pytest_cov",),
            check=contexts_are_whole,
        ),
        Cell(
            "cov --cov-fail-under",
            ("--cov=.", "--cov-fail-under=100"),
            files={"unused.py": "def f():\n    return 1\n"},
            plugins=COV,
            needs=("pytest_cov",),
            check=coverage_data_is_of_the_users_run,
        ),
        Cell("cov --cov-branch", ("--cov=.", "--cov-branch"), plugins=COV, needs=("pytest_cov",)),
        Cell(
            "cov in addopts",
            ini=INI + "addopts = --cov=. --cov-report=xml\n",
            plugins=COV,
            needs=("pytest_cov",),
        ),
        Cell(
            "cov with xdist",
            ("--cov=.", "-n", "2"),
            plugins=(*XDIST, *COV),
            needs=("pytest_cov", "xdist"),
            check=coverage_data_is_of_the_users_run,
        ),
        Cell(
            "asyncio, strict",
            test=ASYNC.format(mark="@pytest.mark.asyncio\n"),
            plugins=("asyncio",),
            needs=("pytest_asyncio",),
        ),
        Cell(
            "asyncio, auto",
            ini=INI + "asyncio_mode = auto\n",
            test=ASYNC.format(mark=""),
            plugins=("asyncio",),
            needs=("pytest_asyncio",),
        ),
        Cell(
            "asyncio, fixtures",
            ("--asyncio-mode=auto",),
            test=ASYNC_FIXTURE,
            plugins=("asyncio",),
            needs=("pytest_asyncio",),
        ),
        Cell(
            "anyio",
            test=ASYNC.format(mark="@pytest.mark.anyio\n"),
            files={"conftest.py": "import pytest\n\n\n@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n"},
            plugins=("anyio",),
            needs=("anyio",),
        ),
        Cell("mock", test=MOCK, plugins=("pytest_mock",), needs=("pytest_mock",)),
        Cell("randomly", test=RANDOM, plugins=("randomly",), needs=("pytest_randomly",)),
        Cell("randomly -p", ("-p", "randomly", "-p", "no:randomly"), needs=("pytest_randomly",)),
        Cell(
            "randomly with a seed and xdist",
            ("-p", "randomly", "-p", "xdist", "-n", "2", "--randomly-seed=7"),
            test=RANDOM,
            needs=("pytest_randomly", "xdist"),
        ),
        Cell(
            "rerunfailures",
            ("--reruns", "1"),
            test=FLAKY_AT_FIRST,
            plugins=("rerunfailures",),
            needs=("pytest_rerunfailures",),
            check=reruns_stay,
        ),
        Cell(
            "rerunfailures with xdist",
            ("--reruns", "1", "-n", "2"),
            plugins=("rerunfailures", "xdist"),
            needs=("pytest_rerunfailures", "xdist"),
        ),
        *(
            Cell(
                f"rerunfailures and an expected failure{' with xdist' if workers else ''}",
                ("--reruns", "1", *workers),
                test=f"import pytest\n{TEST}{EXPECTED_FAILURE}",
                plugins=("rerunfailures", *(XDIST if workers else ())),
                needs=("pytest_rerunfailures", *(XDIST if workers else ())),
                check=expected_failures_stay,
            )
            for workers in ((), ("-n", "2"))
        ),
        Cell(
            "timeout of the project",
            ini=INI + "timeout = 2\n",
            test="from calc import count_down\n\n\ndef test_it():\n    assert count_down(3) == 3\n    assert count_down(0) == 0\n",
            files={"calc.py": ENDLESS},
            plugins=("timeout",),
            needs=("pytest_timeout",),
            healed=1,
            fixed=r"\+ +n (-= 1|\+= -1)\n",
            check=it_is_a_timeout,
        ),
        Cell(
            "timeout by thread",
            ("--timeout=20", "--timeout-method=thread"),
            plugins=("timeout",),
            needs=("pytest_timeout",),
        ),
        Cell(
            "html",
            ("--html=report.html", "--self-contained-html"),
            plugins=("metadata", "html"),
            needs=("pytest_html",),
            check=html_is_whole,
        ),
        Cell(
            "html with xdist",
            ("--html=report.html", "-n", "2"),
            plugins=("metadata", "html", "xdist"),
            needs=("pytest_html", "xdist"),
            check=html_is_whole,
        ),
        Cell(
            "json-report",
            ("--json-report", "--json-report-file=report.json"),
            plugins=("metadata", "pytest_jsonreport"),
            needs=("pytest_jsonreport",),
            check=json_is_whole,
        ),
        Cell(
            "json-report with xdist",
            ("--json-report", "--json-report-file=report.json", "-n", "2"),
            plugins=("metadata", "pytest_jsonreport", "xdist"),
            needs=("pytest_jsonreport", "xdist"),
            check=json_is_whole,
        ),
        Cell("benchmark", test=BENCHMARK, plugins=("benchmark",), needs=("pytest_benchmark",)),
        Cell(
            "benchmark --benchmark-disable",
            ("--benchmark-disable",),
            test=BENCHMARK,
            plugins=("benchmark",),
            needs=("pytest_benchmark",),
        ),
        Cell("hypothesis", test=HYPOTHESIS, plugins=("hypothesispytest",), needs=("hypothesis",)),
        Cell("hypothesis without its plugin", test=HYPOTHESIS, needs=("hypothesis",)),
        Cell(
            "django",
            test=DJANGO_TEST,
            ini=DJANGO_INI,
            files=DJANGO,
            plugins=("django",),
            needs=("pytest_django",),
        ),
        Cell(
            "django, TestCase and --ds",
            ("--ds=site_settings", "--selfheal-effort", "normal"),
            test=DJANGO_TESTCASE,
            files=DJANGO,
            plugins=("django",),
            needs=("pytest_django",),
        ),
        Cell(
            "django --reuse-db with xdist",
            ("--reuse-db", "-n", "2"),
            test=DJANGO_TEST,
            ini=DJANGO_INI,
            files=DJANGO,
            plugins=("django", "xdist"),
            needs=("pytest_django", "xdist"),
        ),
        Cell(
            "bdd",
            test=BDD,
            files={"adding.feature": FEATURE},
            plugins=("pytest-bdd",),
            needs=("pytest_bdd",),
        ),
        Cell("subtests", test=SUBTESTS, plugins=("subtests",), needs=("pytest_subtests",)),
        Cell(
            "inline-snapshot",
            test=INLINE_SNAPSHOT,
            plugins=("inline_snapshot",),
            needs=("inline_snapshot",),
        ),
        *(
            Cell(
                f"inline-snapshot --inline-snapshot=short-report{where}",
                ("--inline-snapshot=short-report",),
                test=INLINE_SNAPSHOT,
                plugins=("inline_snapshot",),
                needs=("inline_snapshot",),
                environment=environment,
                check=teardown_comes_again,
            )
            for where, environment in (("", {}), (" in CI", {"CI": "true"}))
        ),
        Cell(
            "inline-snapshot with xdist",
            ("-n", "2"),
            test=INLINE_SNAPSHOT,
            plugins=("inline_snapshot", "xdist"),
            needs=("inline_snapshot", "xdist"),
            check=inline_snapshot_stays,
        ),
        Cell(
            "syrupy",
            test=SYRUPY,
            files={"__snapshots__/test_calc.ambr": AMBR},
            plugins=("syrupy",),
            needs=("syrupy",),
            check=snapshot_stays,
        ),
        Cell(
            "instafail",
            ("--instafail",),
            plugins=("instafail",),
            needs=("pytest_instafail",),
            check=was_seen_at_once,
        ),
        Cell(
            "instafail with xdist",
            ("--instafail", "-n", "2"),
            plugins=("instafail", "xdist"),
            needs=("pytest_instafail", "xdist"),
        ),
    ]
)
def test_plugin(cell: Cell, tmp_path: Path) -> None:
    run(cell, tmp_path)
