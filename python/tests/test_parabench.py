"""The Python package against the program: what is run, loaded, compared, and what goes wrong."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import parabench
from parabench import Table

PROGRAM = """\
param $num = 3; /// files
time["write"] repeat $i $num write("f$i", 4k);
time["read"] repeat $i $num read("f$i");
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the current directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "x.ppl"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither pandas nor polars is installed."""
    find = importlib.util.find_spec

    def without(name: str, package: str | None = None) -> object:
        return None if name in ("pandas", "polars") else find(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without)


@pytest.fixture(params=["pandas", "polars"])
def library(request: pytest.FixtureRequest) -> str:
    """Each library of frames."""
    pytest.importorskip(request.param)
    parabench.use(request.param)
    request.addfinalizer(lambda: parabench.use(None))
    return str(request.param)


def counts(rows: Table) -> dict[str, int]:
    return {row["op"]: row["count"] for row in rows if row["part_of"] is None}


def test_a_run_has_rows_without_any_library(program: Path, bare: None) -> None:
    run = parabench.run(program, params={"num": 5}, ranks=2)
    assert counts(run.rows) == {"write": 10, "read": 10}
    assert (run.exit_code, run.params, run.header["ranks"]) == (0, {"num": "5"}, 2)
    assert [row["label"] for row in run.labels] == ["write", "read"]
    lines = repr(run.rows).splitlines()
    assert lines[0].split()[:2] == ["label", "op"]
    assert len(lines) == 1 + len(run.rows)


def test_programs_of_the_library_are_run(program: Path, bare: None) -> None:
    run = parabench.run("@stress", params={"num": 2})
    assert counts(run.rows)["rename"] == 4


def test_scratch_results_go_with_the_run(program: Path) -> None:
    run = parabench.run(program)
    folder = Path(run.dir)
    assert (folder / "run.json").is_file()
    del run
    assert not folder.exists()


def test_the_directory_is_the_one_given(program: Path, tmp_path: Path) -> None:
    run = parabench.run(program, dir="here", options=["--keep"])
    assert sorted(path.name for path in (tmp_path / "here").glob("f*")) == ["f0", "f1", "f2"]
    assert run.header["host"]["directory"] == str(tmp_path / "here")


def test_rows_and_events_are_frames(program: Path, library: str) -> None:
    run = parabench.run(program, events=True)
    frame = importlib.import_module(library).DataFrame
    assert isinstance(run.rows, frame)
    assert set(run.rows["label"]) == {"write", "read"}
    assert isinstance(run.events, frame)
    assert len(run.events) == 6
    assert sorted(set(run.events["op"])) == ["read", "write"]


def test_events_without_a_library_name_the_fix(program: Path, bare: None) -> None:
    with pytest.raises(ImportError, match=r"parabench\[pandas\]"):
        _ = parabench.run(program, events=True).events
    with pytest.raises(parabench.ParabenchError, match="events=True"):
        _ = parabench.run(program).events


def test_a_sweep_has_its_parameters_as_columns(program: Path, library: str) -> None:
    run = parabench.run(program, sweep={"num": [2, 4]}, reps=5)
    sweep = run.sweep
    assert set(sweep["num"]) == {"2", "4"}
    assert set(sweep["n"]) == {5}
    assert {"median", "ci95_low", "ci95_high", "metric"} <= set(sweep.columns)
    assert sorted(set(run.rows["num"])) == ["2", "4"]
    assert "num=4" in run._repr_html_()


def test_stored_runs_are_loaded(program: Path, tmp_path: Path, bare: None) -> None:
    first = parabench.run(program, out="results")
    again = parabench.load("results")
    assert again.rows == first.rows
    copy = first.save(tmp_path / "copy")
    assert parabench.load(copy.dir).data["run"]["id"] == first.header["id"]
    assert "x.ppl" in first.report()
    first.page("page.html")
    assert Path("page.html").read_text().startswith("<!")


def test_notebooks_show_a_run_and_escape_its_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.ppl").write_text('time["<b>"] write("f", 4k);\n')
    shown = parabench.run("x.ppl")._repr_html_()
    assert "x.ppl, 1 rank" in shown
    assert "<td>&lt;b&gt;</td><td>write</td><td>1</td>" in shown
    assert "<b>&" not in shown


def test_comparisons_have_sentences_and_rows(program: Path, bare: None) -> None:
    base = parabench.run(program, reps=5)
    new = parabench.run(program, reps=5, out="new")
    comparison = parabench.compare(base, "new")
    assert {row["label"] for row in comparison.rows} == {"write", "read"}
    assert comparison.text == repr(comparison)
    assert all(sentence in str(comparison.data) for sentence in comparison.differences)
    assert comparison._repr_html_().startswith("<pre>A: ")


def test_runs_of_other_parameters_are_compared_on_demand(program: Path) -> None:
    runs = [parabench.run(program, params={"num": num}, reps=5) for num in (1, 2)]
    with pytest.raises(parabench.ParabenchError, match="anyway"):
        parabench.compare(*runs)
    assert parabench.compare(*runs, anyway=True).data[0]["version"] == 2


def test_mistakes_in_a_program_come_with_their_places(tmp_path: Path) -> None:
    path = tmp_path / "bad.ppl"
    path.write_text('write("a", 4q);\nnosuch(1);\n')
    with pytest.raises(parabench.InputError) as caught:
        parabench.run(path)
    found = caught.value.diagnostics
    assert [(one.code, one.line, one.column) for one in found] == [("E0104", 1, 12), ("E0302", 2, 1)]
    assert found[1].help == "define it: define proc nosuch(...) { ... }"
    assert str(found[1]).startswith(f"{path}:2:1: error[E0302]: expected an operation")


def test_a_wrong_parameter_is_a_diagnostic(program: Path) -> None:
    with pytest.raises(parabench.InputError, match="num=many") as caught:
        parabench.run(program, params={"num": "many"})
    assert [one.code for one in caught.value.diagnostics] == ["E0305"]


def test_other_wrong_input_has_no_diagnostics(program: Path) -> None:
    with pytest.raises(parabench.InputError, match="no such file") as caught:
        parabench.run("nosuch.ppl")
    assert caught.value.diagnostics == ()
    with pytest.raises(parabench.InputError, match="there is no nosuch"):
        parabench.load("nosuch")


def test_failed_operations_keep_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.ppl").write_text('write("f", 4k);\nread("nofile");\n')
    with pytest.raises(parabench.RunError, match="ENOENT") as caught:
        parabench.run("x.ppl")
    assert caught.value.exit_code == 1
    assert [failure["path"] for failure in caught.value.failures] == ["nofile"]
    assert caught.value.run is not None
    assert counts(Table(caught.value.run.data["rows"]))["write"] == 1


def test_a_program_that_is_not_there_is_said(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARABENCH", "/nowhere/parabench")
    with pytest.raises(parabench.ParabenchError, match="pip install parabench"):
        parabench.run(program)


def test_the_module_is_the_program() -> None:
    done = subprocess.run([sys.executable, "-m", "parabench", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()[0]) == (0, "parabench")


def test_frames_are_of_two_libraries() -> None:
    with pytest.raises(ValueError, match="numpy"):
        parabench.use("numpy")
