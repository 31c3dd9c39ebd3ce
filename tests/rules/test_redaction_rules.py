"""The rules of redaction on their examples, and on the kinds that vendors publish."""

import random
import re
import string
import tomllib
from importlib import resources
from typing import Any

import pytest
import re2

from leftoff.redaction.redactor import Redactor
from leftoff.redaction.rules import RULES, expand_macros, is_secret_path

# Every redaction rule matches its examples, leaves its counterexamples, and its gate is wider.
#
# The examples are templates: `{x:20}` stands for twenty made-up characters.

DATA: dict[str, Any] = tomllib.loads(
    resources.files("leftoff").joinpath("redaction", "rules.toml").read_text("utf-8")
)
ALPHABETS = {
    "A": string.ascii_uppercase + string.digits, "2": string.ascii_uppercase + "234567",
    "a": string.ascii_lowercase + string.digits, "x": string.ascii_letters + string.digits,
    "l": string.ascii_letters, "h": "0123456789abcdef", "d": string.digits,
    "w": string.ascii_letters + string.digits + "_-",
    "b": string.ascii_letters + string.digits + "+/",
}  # fmt: skip
SEEDS = range(40)


def fill(template: str, seed: int) -> tuple[str, list[str]]:
    """The line that a template stands for, and the made-up stretches in it."""
    chance = random.Random(seed)
    made: list[str] = []

    def draw(match: re.Match[str]) -> str:
        made.append("".join(chance.choices(ALPHABETS[match[1]], k=int(match[2]))))
        return made[-1]

    return re.sub(r"\{([A2axlhdwb]):(\d+)\}", draw, template), made


def entries(field: str) -> list[Any]:
    return [
        pytest.param(rank, line, id=f"{rank}-{entry['kind']}-{i}")
        for rank, entry in enumerate(DATA["rule"])
        for i, line in enumerate(entry[field])
    ]


def redactor(rank: int) -> Redactor:
    return Redactor(personal=RULES[rank].personal)


@pytest.mark.parametrize("rank, template", entries("examples"))
def test_example_is_replaced(rank: int, template: str) -> None:
    misses = []
    for seed in SEEDS:
        line, made = fill(template, seed)
        gate = redactor(rank)
        out = gate.text(line)
        if not gate.total or any(part in out for part in made if len(part) >= 20):
            misses.append(seed)
    # A drawn value may by chance spell a stand-in word or hold no digit; never more than that.
    assert len(misses) <= (2 if RULES[rank].check else 0), fill(template, misses[0])


@pytest.mark.parametrize("rank, template", entries("examples"))
def test_example_is_stable_when_redacted_again(rank: int, template: str) -> None:
    once = redactor(rank).text(fill(template, 1)[0])
    assert redactor(rank).text(once) == once


@pytest.mark.parametrize("rank, template", entries("benign"))
def test_benign_line_is_untouched(rank: int, template: str) -> None:
    changed = [
        s for s in SEEDS if redactor(rank).text(fill(template, s)[0]) != fill(template, s)[0]
    ]
    assert len(changed) <= (2 if "{" in template else 0), fill(template, changed[0])


@pytest.mark.parametrize(
    "rule", [r for r in RULES if r.pattern], ids=lambda rule: f"{rule.rank}-{rule.kind}"
)
def test_gate_fires_wherever_the_pattern_matches(rule: Any) -> None:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    gate = re2.compile(rule.gate.encode(), options)
    pattern = re.compile(expand_macros(rule.pattern), re.ASCII)
    lines = [
        fill(line, seed)[0]
        for entry in DATA["rule"]
        for line in entry["examples"] + entry["benign"]
        for seed in range(8)
    ]
    matched = [line for line in lines if pattern.search(line)]
    assert matched
    assert [line for line in matched if not gate.search(line.encode("ascii", "replace"))] == []


def test_every_rule_has_lines_of_both_sorts() -> None:
    lacking = [r["kind"] for r in DATA["rule"] if not r["benign"]]
    lacking += [r["kind"] for r in DATA["rule"] if not r["examples"] and r["kind"] != "encoded"]
    assert lacking == []


def test_kinds_fit_a_placeholder() -> None:
    assert all(re.fullmatch(r"[a-z0-9-]{1,40}", rule.kind) for rule in RULES)


@pytest.mark.parametrize("path", DATA["paths"]["examples"])
def test_secret_path(path: str) -> None:
    assert is_secret_path(path)


@pytest.mark.parametrize("path", DATA["paths"]["benign"])
def test_plain_path(path: str) -> None:
    assert not is_secret_path(path)


# Recall by kind, on made-up examples of the kinds that public scanners of secrets know.
#
# Each entry is a template as in `rules.toml`; `python -m pytest -s` prints the kinds missed.

LETTERS = {
    "A": string.ascii_uppercase + string.digits, "2": string.ascii_uppercase + "234567",
    "a": string.ascii_lowercase + string.digits, "x": string.ascii_letters + string.digits,
    "h": "0123456789abcdef", "d": string.digits,
}  # fmt: skip
UUID = "{h:8}-{h:4}-{h:4}-{h:4}-{h:12}"
BARE = {
    "1password": "A3-{A:6}-{A:11}-{A:5}-{A:5}-{A:5}", "adobe": "p8e-{a:32}",
    "age": "AGE-SECRET-KEY-1{c:58}", "alibaba": "LTAI{x:20}", "anthropic": "sk-ant-api03-{x:93}AA",
    "artifactory": "AKCp{x:69}", "artifactory-reference": "cmVmdG{x:58}",
    "atlassian": "ATATT3{x:186}", "authress": "sc_{a:10}.{a:4}.acc_{a:12}.{x:60}",
    "aws": "AKIA{2:16}", "aws-a3t": "A3TX{2:16}", "azure": "{x:3}8Q~{x:34}",
    "bedrock": "bedrock-api-key-{x:80}", "clickhouse": "4b1d{x:38}", "clojars": "CLOJARS_{a:60}",
    "cloudflare-origin": "v1.0-{h:24}-{h:146}", "databricks": "dapi{h:32}",
    "defined": "dnkey-{a:26}-{a:52}", "digitalocean": "dop_v1_{h:64}", "doppler": "dp.pt.{x:43}",
    "duffel": "duffel_test_{x:43}", "dynatrace": "dt0c01.{A:24}.{A:64}", "easypost": "EZAK{x:54}",
    "easypost-test": "EZTK{x:54}", "facebook": "EAAC{x:120}",
    "flutterwave": "FLWSECK_TEST-{h:32}-X", "frameio": "fio-u-{x:64}", "gcp": "AIza{x:35}",
    "github": "ghp_{x:36}", "github-fine": "github_pat_{x:22}_{x:59}", "gitlab": "glpat-{x:20}",
    "gitlab-runner": "GR1348941{x:20}", "gitlab-session": "_gitlab_session={h:32}",
    "grafana": "eyJrIjoi{x:80}", "grafana-service": "glsa_{x:32}_{h:8}",
    "harness": "pat.{x:22}.{x:24}.{x:20}", "huggingface": "hf_{l:34}", "infracost": "ico-{x:32}",
    "intra42": "s-s4t2ud-{h:64}", "linear": "lin_api_{x:40}", "lob": "live_{h:35}",
    "mailgun": "key-{h:32}", "maxmind": "{x:6}_{x:29}_mmk", "newrelic": "NRAK-{A:27}",
    "notion": "ntn_{x:46}", "npm": "npm_{x:36}", "octopus": "API-{A:26}",
    "openai": "sk-proj-{x:74}T3BlbkFJ{x:74}", "openshift": "sha256~{x:43}",
    "perplexity": "pplx-{x:48}", "plaid": "access-sandbox-" + UUID, "postman": "PMAK-{h:24}-{h:34}",
    "planetscale": "pscale_tkn_{x:43}", "prefect": "pnu_{x:36}", "pulumi": "pul-{h:40}",
    "pypi": "pypi-AgEIcHlwaS5vcmc{x:90}", "readme": "rdme_{a:70}", "rubygems": "rubygems_{h:48}",
    "scalingo": "tk-us-{x:48}", "sendgrid": "SG.{x:22}.{x:43}",
    "sendinblue": "xkeysib-{h:64}-{x:16}", "sentry": "sntryu_{h:64}", "settlemint": "sm_aat_{x:16}",
    "shippo": "shippo_live_{h:40}", "shopify": "shpat_{h:32}",
    "slack": "xoxb-{d:12}-{d:12}-{x:24}", "sonar": "squ_{a:40}", "sourcegraph": "sgp_{h:40}",
    "square": "EAAA{x:60}", "stripe": "sk_live_{x:24}", "telegram": "1{d:8}:AA{x:33}",
    "terraform": "{x:14}.atlasv1.{x:67}", "twilio": "SK{h:32}", "typeform": "tfp_{x:59}",
    "vault": "hvs.{x:90}", "vault-legacy": "s.{x:24}", "yandex": "AQVN{x:35}",
}  # fmt: skip
NAMED = {
    "airtable": "{x:17}", "algolia": "{h:32}", "asana": "{h:32}", "beamer": "b_{x:44}",
    "bittrex": "{A:32}", "codecov": "{a:32}", "coinbase": "{x:64}", "confluent": "{x:64}",
    "contentful": "{x:43}", "datadog": "{a:40}", "discord": "{h:64}", "dropbox": "{a:15}", "droneci": "{a:32}",
    "etsy": "{a:24}", "fastly": "{x:32}", "finicity": "{h:32}",
    "freshbooks": "{h:64}", "gitter": "{x:40}", "heroku": UUID, "hubspot": UUID,
    "intercom": "{x:60}", "jfrog": "{x:73}", "kraken": "{x:80}",
    "kucoin": "{h:24}", "kucoin-secret": UUID, "squarespace": UUID,
    "launchdarkly": "{x:40}", "mapbox": "{x:40}", "mattermost": "{a:26}", "messagebird": "{a:25}",
    "netlify": "{x:43}", "nytimes": "{x:32}", "okta": "00{x:40}", "rapidapi": "{x:50}",
    "sendbird": "{h:40}", "snyk": UUID, "travis": "{x:22}",
    "twitch": "{a:30}", "twitter": "{x:45}", "zendesk": "{a:40}", "cohere": "{x:40}",
}  # fmt: skip
LETTERS |= {"l": string.ascii_letters, "c": "023456789ACDEFGHJKLMNPQRSTUVWXYZ"}
FRAMES = (
    "{} = '{}'", "export {}={}", '{{"{}": "{}"}}', "{}: {}", 'const {} = "{}"', "{}: '{}'",
    "tool --{} {}",
)  # fmt: skip


def fill_of_redaction(template: str, chance: random.Random) -> str:
    return re.sub(
        r"\{([A2axlhdc]):(\d+)\}",
        lambda m: "".join(chance.choices(LETTERS[m[1]], k=int(m[2]))),
        template,
    )


def hidden(line: str, secret: str) -> bool:
    shown = Redactor().text(line)
    return secret.removeprefix("_gitlab_session=") not in shown


def test_bare_forms_of_known_kinds_are_found() -> None:
    """At least nine of ten kinds are found alone in a sentence, at least nine times of ten."""
    chance = random.Random(3)
    missed = {}
    for kind, template in BARE.items():
        made = [fill_of_redaction(template, chance) for _ in range(20)]
        found = sum(hidden(f"it is {secret} for now", secret) for secret in made)
        if found < 18:
            missed[kind] = found / 20
    print(f"bare: {len(BARE) - len(missed)} of {len(BARE)} kinds; below 0.9: {missed}")
    assert len(missed) <= len(BARE) // 10, missed


def test_known_kinds_are_found_under_a_telling_name() -> None:
    chance = random.Random(4)
    found = tried = 0
    missed: dict[str, int] = {}
    for kind, template in {**BARE, **NAMED}.items():
        vendor = kind.split("-")[0].replace("1password", "onepassword")
        for frame in FRAMES:
            for name in (f"{vendor}_api_key", f"{vendor.upper()}_TOKEN", f"{vendor}-secret"):
                secret = fill_of_redaction(template, chance)
                tried += 1
                if hidden(frame.format(name, secret), secret):
                    found += 1
                else:
                    missed[kind] = missed.get(kind, 0) + 1
    print(f"in context: {found} of {tried}; missed: {missed}")
    assert found >= 0.97 * tried, missed
