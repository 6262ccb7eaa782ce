"""What the bwrap sandbox adds to one verification run, against plain processes: medians of alternating runs.

python benchmarks/sandbox.py [RUNS]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.judge.sandbox import ProcessSandbox, find_bwrap
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.project import Project
from pytest_selfheal.settings import Settings


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    if find_bwrap()[0] is None:
        print(find_bwrap()[1])
        return 1
    seconds: dict[str, list[float]] = {"bwrap": [], "process": []}
    bare: dict[str, list[float]] = {"bwrap": [], "process": []}
    with tempfile.TemporaryDirectory() as name:
        top = Path(name).resolve() / "project"
        top.mkdir()
        (top / "test_it.py").write_text("def test_it():\n    pass\n")
        project = Project(top, top, False, None, top, (), (), sys.executable, plugins_off=True)
        with Workshop(project, Settings(selfheal=True, sandbox="bwrap")) as workshop:
            walled = workshop.sandbox
            for _ in range(runs):
                for sandbox in (walled, ProcessSandbox()):
                    workshop.sandbox = sandbox
                    # The copy's paths as a child sees them depend on the sandbox.
                    workspace = workshop.fresh()
                    started = time.perf_counter()
                    run = run_tests(workshop, workspace, ["test_it.py::test_it"])
                    seconds[sandbox.name].append(time.perf_counter() - started)
                    assert run.outcomes == {"test_it.py::test_it": "passed"}, run.output
                    workspace.close()
                    bare[sandbox.name].append(_start_of_nothing(workshop, top))
    medians = {name: statistics.median(found) for name, found in seconds.items()}
    starts = {name: statistics.median(found) for name, found in bare.items()}
    print(
        f"one verification run: bwrap {1000 * medians['bwrap']:.0f} ms, process {1000 * medians['process']:.0f} ms, "
        f"ratio {medians['bwrap'] / medians['process']:.2f}, difference {1000 * (medians['bwrap'] - medians['process']):.0f} ms"
    )
    print(f"start of /bin/true:   bwrap {1000 * starts['bwrap']:.1f} ms, process {1000 * starts['process']:.1f} ms")
    return 0


def _start_of_nothing(workshop: Workshop, top: Path) -> float:
    from pytest_selfheal.judge.process import launch
    from pytest_selfheal.judge.sandbox import View

    env = {"PATH": "/usr/bin:/bin"}
    command = workshop.sandbox.wrap(["/bin/true"], View(top, top), env)
    started = time.perf_counter()
    launch(command, cwd=top, env=env, timeout=10)
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
