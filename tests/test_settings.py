import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate import jsonio
from gate.changes import policy_changes
from gate.errors import GateError, InvalidInput
from gate.settings import load_settings, parse_settings, policy_digest, policy_facts
from gate.yamlio import parse_yaml

SMALL = "golden: g.jsonl\nretriever:\n  kind: run\n  file: run.jsonl\n"


def problems(text):
    with pytest.raises(InvalidInput) as caught:
        parse_settings(text.encode(), "repo/retrieval-gate.yml", "retrieval-gate.yml")
    return caught.value.problems


def test_the_smallest_configuration_has_the_documented_defaults():
    settings = parse_settings(SMALL.encode(), "repo/retrieval-gate.yml", "x")
    assert settings.gate == "default" and str(settings.policy.primary) == "ndcg@10" and settings.policy.tolerance == 0.02
    assert [str(m) for m in settings.policy.metrics] == ["ndcg@10", "recall@5", "recall@10", "hit@5", "rr@10", "precision@5"]
    assert settings.baseline.label == "baseline-update" and settings.comment == "always"
    assert str(settings.golden) == "repo/g.jsonl"


def test_every_fault_is_named_with_its_line_at_once():
    found = problems("""gate: Not Good
golden: 7
depth: 5
retriever:
  kind: pyhton
  function: retrieve
policy:
  primary: ndgc@10
  tolerence: 0.1
  tolerance: two
  floors: {recall@5: 1.5, nope@3: 0.1}
  protected:
    exact: {rule: hard}
comment: sometimes
colour: red
""")
    text = "\n".join(found)
    for line, words in ((1, "lower-case"), (2, "`golden`"), (3, "too shallow"), (5, "did you mean python?"), (8, "did you mean ndcg@10?"),
                        (9, "did you mean `tolerance`?"), (10, "`tolerance`"), (11, "recall@5"), (11, "nope@3"), (13, "`rule`"),
                        (14, "sometimes"), (15, "colour")):
        assert any(p.startswith(f"retrieval-gate.yml:{line}:") and words in p for p in found), (line, words, text)


def test_protected_tags_can_be_a_list_numbers_or_mappings():
    def protected(value):
        return parse_settings(f"{SMALL}policy:\n  tolerance: 0.05\n  protected: {value}\n".encode(), "c.yml", "c.yml").policy.protected

    assert [(p.tag, p.tolerance, p.rule) for p in protected("[a, b]")] == [("a", 0.05, "point"), ("b", 0.05, "point")]
    assert [(p.tag, p.tolerance, p.rule) for p in protected("{a: 0.1, b: {tolerance: 0.2, rule: credible}}")] == \
        [("a", 0.1, "point"), ("b", 0.2, "credible")]


@pytest.mark.parametrize("text, words", [
    ("a: &x 1\nb: *x\n", "anchors and aliases"), ("a: !!python/object/apply:os.system [ls]\n", "is not accepted"),
    ("a: 1\na: 2\n", "given twice"), ("a: 0x" + "f" * 5000 + "\n", "a number of 5002 characters"),
    ("a: 1" + ":1" * 300_000 + "\n", "a number of 600001 characters"),
    ("a: 1" + ":1" * 1000 + ".5\n", "a number of 2003 characters"), ("a: [1\n", "not valid YAML"),
    ("- a\n", "mapping"), ("? [a]\n: b\n", "plain text"), ("a: !secret x\n", "is not accepted")])
def test_yaml_that_is_more_than_data_is_refused_with_its_line(text, words):
    with pytest.raises(InvalidInput, match=words) as caught:
        parse_yaml(text.encode(), "c.yml")
    assert caught.value.problems[0].startswith("c.yml:")


def test_of_a_file_that_is_too_large_no_more_is_read_than_tells_so(tmp_path):
    path = tmp_path / "c.yml"
    with open(path, "wb") as stream:
        stream.truncate(2**40)
    with pytest.raises(InvalidInput, match="larger than"):
        load_settings(path)


def test_a_missing_file_says_how_to_name_one(tmp_path):
    with pytest.raises(InvalidInput, match="--config"):
        load_settings(tmp_path / "nope.yml")


def test_no_path_leads_out_of_the_repository_not_even_through_a_link(tmp_path):
    root = tmp_path / "repo"
    root.mkdir()
    (root / "link").symlink_to("/etc")
    for name in ("../g.jsonl", "/etc/passwd", "link/passwd"):
        (root / "c.yml").write_text(SMALL.replace("g.jsonl", name))
        with pytest.raises(InvalidInput, match="leads out of the repository"):
            load_settings(root / "c.yml", root)


def test_inputs_override_the_file_and_a_bad_one_is_named_as_an_input(tmp_path):
    path = tmp_path / "c.yml"
    path.write_text(SMALL)
    assert load_settings(path, overrides={"comment": "never"}).comment == "never"
    with pytest.raises(InvalidInput, match="input `comment`"):
        load_settings(path, overrides={"comment": "loud"})


def test_the_policy_digest_sees_every_rule_and_the_label_but_not_the_retriever():
    base = parse_settings(SMALL.encode(), "c.yml", "c.yml")
    same = parse_settings((SMALL + "comment: never\n").replace("run.jsonl", "b.jsonl").encode(), "c.yml", "c.yml")
    assert policy_digest(base) == policy_digest(same)
    for change in ("policy: {tolerance: 0.03}", "policy: {max_errors: 1}", "policy: {must_hit: [q]}", "baseline: {label: go}",
                   "policy: {confidence: 0.9}", "policy: {overlap: 0.9}", "gate: other", "baseline: {artifact: other}", "depth: 40"):
        other = parse_settings((SMALL + change + "\n").encode(), "c.yml", "c.yml")
        assert policy_digest(other) != policy_digest(base), change


# -- tiers -------------------------------------------------------------------------------------------------------------

PYTHON = "golden: g.jsonl\nretriever:\n  kind: python\n  function: a:b\n"


def parsed(text, tier="pr"):
    return parse_settings(text.encode(), "repo/c.yml", "c.yml", tier)


def test_without_a_word_about_tiers_pr_and_nightly_judge_dev_and_release_blind_queries_too():
    assert [(t.name, t.splits, t.repeat) for t in parsed(SMALL).tiers.values()] == \
        [("pr", ("dev",), 1), ("nightly", ("dev",), 1), ("release", ("dev", "blind"), 1)]
    assert parsed(SMALL).tier == "pr" and parsed(SMALL, "release").splits == ("dev", "blind")


def test_a_tiers_keys_replace_those_of_the_base_one_by_one():
    text = PYTHON + """splits: [blind, dev]
repeat: 2
policy: {tolerance: 0.05, inconclusive: fail, protected: [a], floors: {recall@5: 0.8}}
tiers:
  nightly:
    splits: [blind]
    policy: {tolerance: 0.01, metrics: [ndcg@10, ap@20], floors: }
  release: {repeat: 5}
"""
    pr, nightly, release = (parsed(text, name) for name in ("pr", "nightly", "release"))
    assert (pr.splits, pr.repeat, pr.policy.tolerance) == (("dev", "blind"), 2, 0.05) and pr.policy == pr.base
    assert (nightly.splits, nightly.repeat, nightly.policy.tolerance) == (("blind",), 2, 0.01)
    assert nightly.policy.inconclusive == "fail" and not nightly.policy.floors and pr.policy.floors == {"recall@5": 0.8}
    assert [str(m) for m in nightly.policy.metrics] == ["ndcg@10", "ap@20"] and nightly.policy.protected == (("a", 0.01, "point"),)
    assert (release.repeat, release.splits, release.policy) == (5, ("dev", "blind"), pr.policy)


def test_every_fault_of_every_tier_is_named_with_its_own_line_whichever_tier_runs():
    text = PYTHON + """splits: []
repeat: 0
policy:
  tolerance: two
  floors: {nope@3: 0.1}
tiers:
  pr:
    splits: [dve]
  nightly:
    repeat: 1000
    polcy: {}
    policy:
      metrics: [ndcg@50]
      tolerence: 0.1
  release:
    policy: {primary: ndgc@10, protected: {x: {rule: hard}}}
    splits: dev
  weekly: {}
"""
    with pytest.raises(InvalidInput) as caught:
        parsed(text, "nightly")
    found = caught.value.problems
    for line, words in ((5, "`splits` is empty"), (6, "`repeat`"), (8, "`tolerance`"), (9, "nope@3"), (12, "'dve'"), (14, "`repeat`"),
                        (15, "did you mean `policy`?"), (16, "too shallow for ndcg@50 of the tier nightly"),
                        (18, "did you mean `tolerance`?"), (20, "did you mean ndcg@10?"), (20, "`rule`"), (21, "`splits`"),
                        (22, "`weekly`")):
        assert sum(p.startswith(f"c.yml:{line}:") and words in p for p in found) == 1, (line, words, found)
    assert len(found) == 13


def test_tiers_that_are_no_mapping_and_an_unknown_tier_are_refused():
    assert any("`tiers` must be a mapping" in p for p in problems(SMALL + "tiers: [pr]\n"))
    assert any("`nightly` must be a mapping" in p for p in problems(SMALL + "tiers: {nightly: 3}\n"))
    with pytest.raises(InvalidInput, match="input `tier`: 'weekly' must be one of pr, nightly, release"):
        parsed(SMALL, "weekly")


def test_candidates_of_a_tier_may_be_deeper_than_the_results_that_are_fetched():
    found = parsed(SMALL + "tiers: {nightly: {policy: {metrics: [candidate-recall@100]}}}\n", "nightly")
    assert found.policy.metrics[0].k == 100 > found.depth


def test_a_run_file_cannot_be_repeated_and_the_line_of_the_tier_says_so():
    (problem,) = problems(SMALL + "tiers:\n  nightly:\n    repeat: 3\n")
    assert problem.startswith("retrieval-gate.yml:7:") and "golden plan" in problem


def test_policy_facts_cover_every_tier_whichever_runs_and_are_untouched_by_tiers_that_change_nothing():
    plain = policy_facts(parsed(PYTHON))
    assert not any("." in key for key in plain)
    same = PYTHON + "splits: [dev]\ntiers: {pr: {repeat: 1, policy: {tolerance: 0.02}}, release: {splits: [blind, dev]}}\n"
    assert policy_facts(parsed(same)) == plain
    text = PYTHON + "tiers: {nightly: {repeat: 3, policy: {tolerance: 0.01}}, release: {splits: [blind]}}\n"
    rows = {"nightly.repeat": 3, "nightly.tolerance": 0.01, "release.splits": ["blind"]}
    for tier in ("pr", "nightly", "release"):
        assert policy_facts(parsed(text, tier)) == plain | rows
    assert jsonio.loads(jsonio.dumps(policy_facts(parsed(text)))) == plain | rows  # as a record has them


def test_a_change_of_any_tier_is_a_change_of_the_rules_and_shown_as_what_is_in_force():
    def rows(old, new):
        return [(c.name, c.old, c.new) for c in policy_changes(policy_facts(parsed(PYTHON + old)), policy_facts(parsed(PYTHON + new)))]

    strict = "tiers: {nightly: {policy: {tolerance: 0.01}, splits: [blind], repeat: 3}}"
    assert rows(strict, "") == [("policy nightly.repeat", "3", "1"), ("policy nightly.splits", "blind", "dev"),
                                ("policy nightly.tolerance", "0.01", "0.02")]
    # Pinned where it was while the base moves: nothing changes at night.
    assert rows("", "policy: {tolerance: 0.05}\ntiers: {nightly: {policy: {tolerance: 0.02}}}") == [("policy tolerance", "0.02", "0.05")]


@given(st.text(max_size=200) | st.sampled_from([SMALL]).flatmap(lambda s: st.text(max_size=30).map(lambda t: s + t)))
def test_no_configuration_crashes_with_anything_but_a_typed_error(text):
    try:
        parse_settings(text.encode("utf-8", "surrogatepass"), "c.yml", "c.yml")
    except GateError as error:
        assert error.exit_code == 2


STORE = "golden: g.jsonl\nretriever: {kind: run, file: r.jsonl}\n"


@pytest.mark.parametrize("section, words", [
    ("{store: brunch}", "did you mean branch"), ("{branch: x}", "`branch` belongs to `store: branch`, and the store is artifact"),
    ("{store: branch, path: b.json}", "`path` belongs to `store: file`"), ("{store: file}", "`path` must name the file"),
    ("{store: file, path: b.jsonl}", "would be read as a run file"), ("{store: branch, branch: 'a..b'}", "no name for a branch"),
    ("{store: branch, branch: '-x'}", "no name for a branch"), ("{store: branch, branch: 'a b'}", "no name for a branch"),
    ("{store: branch, branch: 'x.lock'}", "no name for a branch"), ("{store: branch, branch: 'x/'}", "no name for a branch")])
def test_a_store_that_cannot_be_meant_is_an_error_with_its_line(section, words):
    with pytest.raises(InvalidInput) as caught:
        parse_settings(f"{STORE}baseline: {section}\n".encode(), "c.yml", "c.yml")
    assert words in caught.value.problems[0] and caught.value.problems[0].startswith("c.yml:3")


def test_the_stores_settings_are_rules_and_the_usual_store_adds_none():
    def facts(section):
        return policy_facts(parse_settings(f"{STORE}baseline: {section}\n".encode(), "c.yml", "c.yml"))

    usual = facts("{}")
    assert facts("{store: artifact}") == usual and not {"store", "branch", "path"} & usual.keys()
    assert facts("{store: branch}") == usual | {"store": "branch", "branch": "retrieval-gate-baselines"}
    assert facts("{store: file, path: a/b.json.gz}") == usual | {"store": "file", "path": "a/b.json.gz"}


def test_a_committed_baseline_stays_inside_the_repository(tmp_path):
    (tmp_path / "c.yml").write_text(STORE + "baseline: {store: file, path: ../b.json.gz}\n")
    with pytest.raises(InvalidInput, match="leads out of the repository"):
        load_settings(tmp_path / "c.yml", tmp_path)
