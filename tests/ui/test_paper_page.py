"""The Paper page in AppTest: tables, figures, leaderboard, errata and the link of the page."""

import json

import pandas as pd
import pytest
from app_pages import make_page, until
from streamlit.testing.v1 import AppTest

from smfh.__main__ import main
from smfh.datasets import DATASETS
from smfh.hashing import make_method
from smfh.memory import BoundedCache
from smfh.paper import BENCHMARKS, TASKS, runnable
from smfh.runs import ensure_saved
from smfh.ui import server

pytestmark = pytest.mark.slow
SPACE = "\u00a0"


@pytest.fixture(autouse=True)
def own_runs(tmp_path, monkeypatch):
    """A folder of runs for this test only, and Planted, the smallest data set, in place of Emoji."""
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path))
    monkeypatch.setattr(server, "_shared", BoundedCache(32))
    monkeypatch.setattr("smfh.paper.STAND_IN", "planted")


def open_page(tab: str = "Tables", **query: str) -> AppTest:
    query = {f"paper.{key}": value for key, value in ({"data": "planted"} | query).items()}
    page = make_page("pages/7_Paper.py", data="planted", **query)
    page.session_state["paper_tab"] = tab
    page.run()
    assert not page.exception
    return page


def measure(page: AppTest, part: str) -> AppTest:
    """Click the button of a table or figure, and wait until all its runs are done."""
    page.button(key=f"{part}_run").click().run()
    return until(page, lambda: label(page, part).startswith("All"))


def label(page: AppTest, part: str) -> str:
    return next((button.label for button in page.button if button.key == f"{part}_run"), "")


def words(page: AppTest) -> str:
    shown = [*page.text, *page.markdown, *page.caption, *page.info, *page.warning]
    return "\n".join(element.value for element in shown)


def table_1(page: AppTest) -> list[str]:
    """The cells of Table 1 by task, method and column."""
    return [text for table in page.table[: len(TASKS)] for row in table.value.to_numpy() for text in row]


@pytest.mark.parametrize("dataset", BENCHMARKS)
def test_published_numbers_are_shown_with_and_without_the_files(dataset):
    page = open_page(data=dataset).run()
    assert not page.exception
    assert all(line in words(page) for line in runnable(dataset))
    printed = "0.604" if dataset == "wiki" else "0.546" if dataset == "nus-wide" else "350.73"
    assert any(printed in text for table in page.table for text in table.value.to_numpy().ravel())
    assert bool(label(page, "table-1")) == (not runnable(dataset))
    page.session_state["paper_tab"] = "Figures"
    assert not page.run().exception
    assert bool(page.get("plotly_chart")) == (not runnable(dataset))


def test_measured_numbers_are_those_of_the_command(capsys):
    page = open_page(methods="cvh,smh", seeds="2")
    assert "is not in the paper" in page.info[0].value
    assert label(page, "table-1").startswith("Measure 12 ")
    assert set(table_1(page)) == {"–"}
    measure(page, "table-1")
    order = ["paper", "--datasets", "planted", "--methods", "smh", "cvh", "--seeds", "2", "--json"]
    assert main(order) == 0
    rows = json.loads(capsys.readouterr().out)
    assert table_1(page) == [
        f"**{row['mean']:.3f}**{SPACE}±{SPACE}{row['std']:.3f}"
        for direction in TASKS
        for row in rows
        if row["direction"] == direction
    ]
    seconds = [f"**{row['mean']:,.2f}{SPACE}s**" for row in rows if row["measure"] == "seconds"]
    assert [text for row in page.table[2].value.to_numpy() for text in row] == seconds
    assert set(page.dataframe[0].value["measure"]) == {
        *("mAP@100", "mAP (whole ranking)", "P@100", "NDCG@100", "distinct codes")
    }
    assert label(page, "table-2").startswith("All 8 ")  # these runs are among those of Table 1
    page.session_state["paper_tab"] = "Figures"
    page.run()
    assert label(page, "figure-2").startswith("Measure 4 ")


def test_the_choice_is_in_the_link_and_survives_another_page():
    page = open_page(methods="cvh", seeds="3")
    page.multiselect(key="paper_methods").set_value(["cvh", "smfh"]).run()
    assert page.query_params["paper.methods"] in ("smfh,cvh", ["smfh,cvh"])
    page.switch_page("pages/8_Data.py").run()
    page.switch_page("pages/7_Paper.py").run()
    assert page.multiselect(key="paper_methods").value == ["smfh", "cvh"]
    assert label(page, "table-1").startswith("Measure 18 ")
    page.multiselect(key="paper_methods").set_value([]).run()
    assert "Choose at least one method" in page.info[-1].value


def save_run(split: str = "default", seed: int = 0) -> None:
    source = DATASETS["planted"]()
    ensure_saved(server.run_store(), source, make_method("cvh", bits=8), *source.load(split, seed))


def planted_rows(page: AppTest) -> pd.DataFrame:
    table = page.dataframe[0].value
    return table[table["data"] == "Planted"]


def test_the_leaderboard_has_measured_and_published_scores_and_filters():
    save_run()
    page = open_page("Leaderboard")
    assert "Planted" not in set(page.dataframe[0].value["data"]) if page.dataframe else True  # one seed only
    page.toggle("leaderboard_everything").set_value(True).run()
    table, own = page.dataframe[0].value, planted_rows(page)
    assert not table.isna().any(axis=None)
    assert set(table["measure"]) == {"mAP@100"}
    assert set(table["ties"]) == {"database order"}
    assert sorted(own["direction"]) == ["image → text", "text → image"]
    assert own["link"].str.contains("data=planted&method=cvh&bits=8&seed=0", regex=False).all()
    assert own["definition"].str.contains("database order").all()
    assert ((table["published"] != "") == ~table["data"].isin(["Planted", "Emoji"])).all()
    assert own["command"].str.startswith("python -m smfh compare planted").all()
    page.selectbox("leaderboard_measure").select("all")
    page.selectbox("leaderboard_data").select("planted").run()
    table = page.dataframe[0].value
    assert set(table["data"]) == {"Planted"}
    assert len(set(table["measure"])) == 3
    assert not page.run().exception


def test_a_run_on_another_split_is_marked_and_has_no_link():
    save_run()
    save_run("random", 3)
    page = open_page("Leaderboard")
    own = planted_rows(page.toggle("leaderboard_everything").set_value(True).run())
    assert sorted(own["setting"]) == ["default"] * 2 + ["other split"] * 2
    assert ((own["link"] != "") == (own["setting"] == "default")).all()
