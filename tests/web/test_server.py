"""The server: responses, rejected requests, limits, and the generated description of the API."""

import asyncio
import json
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("starlette", reason="the server needs starlette (extra: serve)")
pytest.importorskip("msgspec", reason="the server needs msgspec (extra: serve)")
from serving_toys import JSON, Client, engine, parser
from starlette.responses import Response

import arbora
from arbora.data.columns import columns_of, parse_text
from arbora.data.sentence import Sentence
from arbora.errors import InputError, StoppedError
from arbora.interfaces import Query
from arbora.parsing.ensemble import ensemble
from arbora.web.limits import Limits
from arbora.web.server import PAGE_POLICY
from arbora.web.serving import NO_RANKING, NO_SEGMENTER, NO_TAGGER, Engine, split_plainly
from arbora.web.workers import Workers

MODELS = Path(__file__).resolve().parents[1] / "fixtures" / "0.1"


@pytest.fixture(scope="module")
def client():
    return Client()


TEXT = "tafo zondos kunzangu. nultorpel tafo!"
CONLLU = "\n".join(
    f"{i}\t{form}\t_\t{tag}\t_\t_\t{head}\t{label}\t_\t_"
    for i, (form, tag, head, label) in enumerate(
        [("tafo", "NOUN", 2, "nsubj"), ("zondos", "VERB", 0, "root"), ("kunzangu", "NOUN", 2, "obj")], start=1
    )
)


# The page


STATIC = sorted(each.name for each in (Path(arbora.__file__).parent / "web" / "static").iterdir())
SCRIPTS = [f"/{name}" for name in STATIC if not name.endswith(".html")]


@pytest.mark.parametrize("path", ["/", *SCRIPTS, "/openapi.json", "/api/info"])
def test_pages_and_documents_are_served(client, path):
    reply = client("GET", path)
    assert reply.status == 200
    assert reply.headers["content-security-policy"] == PAGE_POLICY
    assert "unsafe" not in PAGE_POLICY
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert int(reply.headers["content-length"]) == len(reply.body) > 0
    head = client("HEAD", path)  # uvicorn leaves the body out
    assert (head.status, head.headers) == (200, reply.headers)


def test_page_loads_nothing_from_other_sites(client):
    page = "".join(client("GET", path).body.decode() for path in ("/", *SCRIPTS))
    assert "innerHTML" not in page
    assert "insertAdjacentHTML" not in page
    assert "document.write" not in page
    assert " style=" not in page
    assert "eval(" not in page
    addresses = [word for word in page.split('"') if "//" in word and word.startswith("http")]
    assert addresses == ["http://www.w3.org/2000/svg"]  # a name, not fetched


# Parsing


def test_raw_text_is_parsed(client):
    reply = client.post("/api/parse", {"text": TEXT})
    assert reply.status == 200
    assert reply.headers["cache-control"] == "no-store"
    first, second = reply.json["sentences"]
    assert first["text"] == "tafo zondos kunzangu."
    assert [word["form"] for word in second["words"]] == ["nultorpel", "tafo", "!"]
    assert reply.json["notes"] == [NO_SEGMENTER, NO_TAGGER]
    (tree,) = first["trees"]
    assert 0 < tree["probability"] <= 1
    (parsed,) = parse_text(tree["conllu"], "conllu").sentences()
    assert list(parsed.heads) == tree["heads"]
    assert parsed.misc[2].startswith("SpaceAfter=No")
    assert first["marginals"] is None


def test_conllu_with_k_best_trees_and_marginals(client):
    reply = client.post("/api/parse", {"conllu": CONLLU, "k": 4, "marginals": True})
    (sentence,) = reply.json["sentences"]
    trees = sentence["trees"]
    assert len(trees) == 4
    assert [t["probability"] for t in trees] == sorted((t["probability"] for t in trees), reverse=True)
    table = sentence["marginals"]
    assert len(table) == len(table[0]) == 4
    for word in (1, 2, 3):
        assert sum(row[word] for row in table) == pytest.approx(1, abs=1e-3)
        head = trees[0]["heads"][word - 1]
        assert table[head][word] == pytest.approx(trees[0]["head_probabilities"][word - 1], abs=1e-4)
    assert sentence["given"]["heads"] == [2, 0, 2]
    assert sentence["given"]["deprels"] == ["nsubj", "root", "obj"]
    for word, ranking in enumerate(sentence["labels"]):
        shares = list(ranking.values())
        assert shares == sorted(shares, reverse=True)
        assert next(iter(ranking)) == trees[0]["deprels"][word]
        assert shares[0] == pytest.approx(trees[0]["label_probabilities"][word], abs=1e-4)
    assert reply.json["notes"] == []
    (expected,) = parser().parse(list(parse_text(CONLLU + "\n\n", "conllu").sentences()))
    assert trees[0]["heads"] == list(expected.heads)


def test_other_columns_and_lines_of_conllu_are_kept(client):
    text = (
        "\ufeff# sent_id = x\r\n1-2\tdu\t_\t_\t_\t_\t_\t_\t_\tA=b\r\n1\tde\t_\t_\t_\t_\t_\t_\t_\t_\r\n"
        "2\tle\t_\t_\t_\t_\t_\t_\t_\tK=v\r\n2.1\tx\t_\t_\t_\t_\t_\t_\t1:dep\t_"
    )
    reply = client.post("/api/parse", {"conllu": text})
    (sentence,) = reply.json["sentences"]
    assert sentence["tokens"] == [{"first": 1, "last": 2, "form": "du"}]
    assert sentence["given"] is None
    conllu = sentence["trees"][0]["conllu"]
    assert "1-2\tdu" in conllu
    assert "2.1\tx" in conllu
    assert "K=v|HeadProb" in conllu
    assert "# sent_id = x" in conllu


def test_labels_are_ranked_for_every_sentence_and_its_first_tree(client):
    reply = client.post("/api/parse", {"conllu": f"{CONLLU}\n\n{CONLLU}", "k": 3, "marginals": True})
    first, second = reply.json["sentences"]
    assert len(first["trees"]) == 3
    assert first["labels"] == second["labels"]


def test_partial_trees_are_returned_as_given(client):
    (sentence,) = client.post("/api/parse", {"conllu": CONLLU.replace("\t2\tobj", "\t_\t_")}).json[
        "sentences"
    ]
    assert sentence["given"]["heads"] == [2, 0, None]
    assert None not in sentence["trees"][0]["heads"]


def test_pinned_heads_are_kept(client):
    plain = client.post("/api/parse", {"conllu": CONLLU}).json["sentences"][0]["trees"][0]["heads"]
    for word in (1, 2, 3):
        for head in range(4):
            if head == word:
                continue
            keep = [{"word": word, "head": head}]
            reply = client.post("/api/parse", {"conllu": CONLLU, "k": 3, "marginals": True, "keep": keep})
            (sentence,) = reply.json["sentences"]
            assert sentence["kept"] == [word]
            assert all(tree["heads"][word - 1] == head for tree in sentence["trees"])
            assert sentence["trees"][0]["head_probabilities"][word - 1] == 1.0
            assert sentence["marginals"][head][word] == pytest.approx(1)
    keep = [{"word": 1, "head": plain[0], "deprel": "my:own"}]
    reply = client.post("/api/parse", {"conllu": CONLLU, "keep": keep})
    assert reply.json["sentences"][0]["trees"][0]["deprels"][0] == "my:own"
    both = [{"word": 1, "head": 2}, {"word": 2, "head": 1}]
    reply = client.post("/api/parse", {"conllu": CONLLU, "keep": both})
    assert (reply.status, reply.code) == (422, "no_tree")
    assert "1 -> 2 -> 1" in reply.json["error"]["message"]


def test_best_tree_only_if_the_parser_does_not_rank():
    pair = Client(model=Engine(ensemble([parser(), parser(order=1)])))
    reply = pair.post("/api/parse", {"conllu": CONLLU, "k": 4, "marginals": True})
    (sentence,) = reply.json["sentences"]
    assert len(sentence["trees"]) == 1
    assert reply.json["notes"] == [NO_RANKING]


def test_second_order_nonprojective_parsers_rank_trees():
    nonprojective = Client(model=engine(trees="nonprojective", order=2))
    reply = nonprojective.post("/api/parse", {"conllu": CONLLU, "k": 4, "marginals": True})
    (sentence,) = reply.json["sentences"]
    assert len(sentence["trees"]) == 4
    assert 0 < sum(tree["probability"] for tree in sentence["trees"]) <= 1
    assert reply.json["notes"] == []


@pytest.mark.parametrize("name", sorted({path.stem for path in MODELS.glob("*.arbora")} - {"classifier"}))
def test_every_parser_that_ranks_trees_returns_its_k_best(name):
    model = arbora.load(MODELS / f"{name}.arbora")
    reply = Client(model=Engine(model)).post("/api/parse", {"conllu": CONLLU, "k": 3})
    found = [tree["heads"] for tree in reply.json["sentences"][0]["trees"]]
    if Query.KBEST in model.parser.queries:
        (sentence,) = parse_text(CONLLU + "\n\n", "conllu").sentences()
        assert found == [list(tree.heads) for tree in model.kbest(sentence, 3)]
        assert len(found) == 3
        assert reply.json["notes"] == []
    else:
        assert len(found) == 1
        assert reply.json["notes"] == [NO_RANKING]
    assert bool(Engine(model).unranked) == (Query.KBEST not in model.parser.queries)


def test_pinned_heads_are_rejected_by_parsers_that_cannot_keep_them():
    client = Client(model=Engine(arbora.load(MODELS / "transition-swap-beam.arbora")))
    reply = client.post("/api/parse", {"conllu": CONLLU, "keep": [{"word": 1, "head": 2}]})
    assert (reply.status, reply.code) == (422, "not_parsed")


def test_nonprojective_cube_parsers_rank_trees():
    assert Engine(arbora.load(MODELS / "cube-nonprojective.arbora")).ranks


@pytest.mark.parametrize(("name", "order"), [("graph-order1", 1), ("graph-order2", 2), ("cube", 3)])
def test_info_matches_its_description_for_every_order(name, order):
    client = Client(model=Engine(arbora.load(MODELS / f"{name}.arbora")))
    info = client("GET", "/api/info").json
    assert info["order"] == order
    document = client("GET", "/openapi.json").json
    schema = document["components"]["schemas"]["Info"]
    assert conforms(info, schema, document)
    assert (schema["properties"]["order"]["minimum"], schema["properties"]["order"]["maximum"]) == (1, 3)


def test_svg_pictures_are_escaped_and_sandboxed(client):
    reply = client.post("/api/svg", {"conllu": CONLLU.replace("tafo", "<script>alert(1)</script>")})
    assert reply.status == 200
    assert reply.headers["content-type"].startswith("image/svg+xml")
    assert "sandbox" in reply.headers["content-security-policy"]
    assert b"<svg" in reply.body
    assert b"<script" not in reply.body
    tree = client.post("/api/parse", {"conllu": CONLLU}).json["sentences"][0]["trees"][0]
    uncertain = [p for p in tree["head_probabilities"] if p < 0.8]
    assert uncertain
    picture = client.post("/api/svg", {"conllu": tree["conllu"]}).body.decode()
    assert picture.count("dasharray") == len(uncertain)
    assert client.post("/api/svg", {"conllu": CONLLU.replace("\t2\tobj", "\t_\t_")}).code == "bad_request"
    assert client.post("/api/svg", {"conllu": f"{CONLLU}\n\n{CONLLU}"}).code == "bad_request"
    assert client.post("/api/svg", {}).code == "bad_request"


class Pipeline:
    """A stand-in for a model with segmenter and tagger: every line is a sentence, every word a noun."""

    def __init__(self, segmenter="there", annotator="there"):
        self.parser = parser()
        self.segmenter, self.annotator = segmenter, annotator

    def segment(self, text):
        lines = [Sentence.from_lists(line.split()) for line in text.splitlines()]
        return SimpleNamespace(columns=columns_of(lines))

    def prepare(self, columns):
        untagged = {("_",) * n for n in range(100)}
        return columns_of(
            replace(s, upos=("NOUN",) * len(s)) if s.upos in untagged else s for s in columns.sentences()
        )


def test_model_with_segmenter_and_tagger():
    client = Client(model=Engine(Pipeline(), "whole"))
    assert client("GET", "/api/info").json["reads_text"]
    assert client("GET", "/api/info").json["example"] == ""
    assert Client(model=Engine(Pipeline(), "whole", "a <b>"))("GET", "/api/info").json["example"] == "a <b>"
    reply = client.post("/api/parse", {"text": "a b\nc", "k": 2})
    assert reply.json["notes"] == []
    assert [[w["upos"] for w in s["words"]] for s in reply.json["sentences"]] == [["NOUN", "NOUN"], ["NOUN"]]
    bare = CONLLU.replace("NOUN", "_").replace("VERB", "_")
    (sentence,) = client.post("/api/parse", {"conllu": bare}).json["sentences"]
    assert [w["upos"] for w in sentence["words"]] == ["NOUN"] * 3
    assert sentence["given"]["heads"] == [2, 0, 2]
    (sentence,) = client.post("/api/parse", {"conllu": CONLLU}).json["sentences"]
    assert [w["upos"] for w in sentence["words"]] == ["NOUN", "VERB", "NOUN"]


def test_model_with_a_tagger_only():
    half = Pipeline(segmenter=None)
    client = Client(model=Engine(half, "half"))
    info = client("GET", "/api/info").json
    assert (info["reads_text"], info["tags_words"]) == (False, True)
    reply = client.post("/api/parse", {"text": "a b. c"})
    assert [s["words"][0]["upos"] for s in reply.json["sentences"]] == ["NOUN", "NOUN"]
    assert len(reply.json["notes"]) == 1
    half.annotator = None
    reply = Client(model=Engine(half, "half")).post("/api/parse", {"text": "a b. c"})
    assert [s["words"][0]["upos"] for s in reply.json["sentences"]] == ["_", "_"]
    assert len(reply.json["notes"]) == 2


# Hostile input


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script> <img src=x onerror=alert(1)>",
        "a\x00b \x07\x1b[31m c\x7f",
        "👨‍👩‍👧‍👦 🏳️‍🌈 e\u0301\u0302\u0303 z̷̨̛a̶l̴g̵o",
        "שלום עולם، مرحبا بالعالم؟ \u202eevil\u202c",
        "\u2028line\u2029break\x85here\x0b\x0c\x1c",
        "हिन्दी में पाठ। 漢字かな。",
        "." * 90,
        "[[[[[[[[[[[[[[[[[[[[[[[[[{{{{{{{{{{{{{{{{{{",
        "_ # - \\t \\ \" ' &amp; %00 ../../etc/passwd",
        "# text = x",
    ],
)
def test_unusual_characters_are_plain_text(client, text):
    reply = client.post("/api/parse", {"text": text, "marginals": True})
    assert reply.status == 200, reply.body
    forms = "".join(word["form"] for s in reply.json["sentences"] for word in s["words"])
    assert forms == "".join(text.split())
    conllu = reply.json["sentences"][0]["trees"][0]["conllu"]
    again = client.post("/api/parse", {"conllu": conllu})
    assert again.json["sentences"][0]["words"] == reply.json["sentences"][0]["words"]
    assert client.post("/api/svg", {"conllu": conllu}).status == 200


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "bad_json"),
        (b"{", 400, "bad_json"),
        (b'{"text": "\xff\xfe"}', 400, "bad_encoding"),
        (b'{"text": "\\ud800"}', 422, "bad_encoding"),
        (b'{"\\ud800": "a"}', 422, "bad_encoding"),
        (b'{"text": "a b", "keep": [{"word": 1, "head": 2, "deprel": "\\udc00"}]}', 422, "bad_encoding"),
        (b'{"text": "a", "k": NaN}', 400, "bad_json"),
        (b"[" * 200_000, 400, "bad_json"),
        (b'{"text":' * 100_000, 400, "bad_json"),
        (b"[]", 422, "bad_request"),
        (b'"text"', 422, "bad_request"),
        (b"{}", 422, "bad_request"),
        (b'{"text": "a", "conllu": "b"}', 422, "bad_request"),
        (b'{"text": 5}', 422, "bad_request"),
        (b'{"text": ["a"]}', 422, "bad_request"),
        (b'{"text": "a", "k": 0}', 422, "bad_request"),
        (b'{"text": "a", "k": true}', 422, "bad_request"),
        (b'{"text": "a", "k": 1e99}', 422, "bad_request"),
        (b'{"text": "a", "k": 999999999999999999999}', 422, "bad_request"),
        (b'{"text": "a", "marginals": 1}', 422, "bad_request"),
        (b'{"text": "a", "kk": 1}', 422, "bad_request"),
        (b'{"text": "a", "' + b"k" * 5000 + b'": 1}', 422, "bad_request"),
        (b'{"text": "a", "k": ' + b"9" * 5000 + b"}", 400, "bad_json"),
        (b'{"text": "a", "k": 1.5}', 422, "bad_request"),
        (b'{"text": "a", "k": "2"}', 422, "bad_request"),
        (b'{"text": "a", "keep": {}}', 422, "bad_request"),
        (b'{"text": "a b", "keep": [{"word": 1}]}', 422, "bad_request"),
        (b'{"text": "a b", "keep": [{"word": 1, "head": 1}]}', 422, "bad_request"),
        (b'{"text": "a b", "keep": [{"word": 1, "head": 9}]}', 422, "bad_request"),
        (b'{"text": "a b", "keep": [{"word": 1, "head": -1}]}', 422, "bad_request"),
        (b'{"text": "a b", "keep": [{"word": 1, "head": 2, "deprel": "a\\tb"}]}', 422, "bad_request"),
        (b'{"text": "a. b.", "keep": [{"word": 1, "head": 2}]}', 422, "bad_request"),
        (b'{"text": ""}', 422, "no_words"),
        (b'{"text": " \\n\\t "}', 422, "no_words"),
        (b'{"conllu": ""}', 422, "no_words"),
        (b'{"conllu": "1\\ta"}', 422, "bad_conllu"),
        (b'{"conllu": "hello"}', 422, "bad_conllu"),
    ],
)
def test_bad_requests_are_rejected(client, body, status, code):
    reply = client("POST", "/api/parse", body, JSON)
    assert (reply.status, reply.code) == (status, code)
    assert len(reply.body) < 500
    assert reply.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "code"),
    [
        ("GET", "/nowhere", {}, 404, "not_found"),
        ("GET", "/../etc/passwd", {}, 404, "not_found"),
        ("GET", "/static/\x00<script>", {}, 404, "not_found"),
        ("GET", "/api/info/", {}, 404, "not_found"),
        ("GET", "/api/parse", {}, 405, "method_not_allowed"),
        ("DELETE", "/api/parse", JSON, 405, "method_not_allowed"),
        ("OPTIONS", "/api/parse", JSON, 405, "method_not_allowed"),
        ("POST", "/", JSON, 405, "method_not_allowed"),
        ("POST", "/api/parse", {}, 415, "bad_type"),
        ("POST", "/api/parse", {"content-type": "text/plain"}, 415, "bad_type"),
        ("POST", "/api/parse", {"content-type": "application/x-www-form-urlencoded"}, 415, "bad_type"),
        ("POST", "/api/parse", {**JSON, "origin": "https://evil.example"}, 403, "bad_origin"),
        ("POST", "/api/parse", {**JSON, "origin": "null"}, 403, "bad_origin"),
        ("POST", "/api/parse", {**JSON, "origin": "http://127.0.0.1:9999"}, 403, "bad_origin"),
        ("POST", "/api/parse", {**JSON, "origin": ""}, 403, "bad_origin"),
        ("POST", "/api/parse", {**JSON, "sec-fetch-site": "cross-site"}, 403, "bad_origin"),
        ("GET", "/", {"host": "evil.example"}, 403, "bad_host"),
        ("GET", "/", {"host": "localhost.evil.example:8080"}, 403, "bad_host"),
        ("GET", "/", {"host": ""}, 403, "bad_host"),
        ("POST", "/api/parse", {**JSON, "host": "evil.example:8080"}, 403, "bad_host"),
    ],
)
def test_foreign_requests_are_rejected(client, method, path, headers, status, code):
    reply = client(method, path, b'{"text": "a"}', headers)
    assert (reply.status, reply.code) == (status, code)
    assert reply.headers["content-security-policy"] == PAGE_POLICY
    assert "access-control-allow-origin" not in reply.headers
    if status == 405:
        assert reply.headers["allow"] in ("POST", "GET, HEAD")


def test_own_host_names_are_allowed(client):
    for host in ("localhost:8080", "127.0.0.1", "[::1]:8080", "192.168.0.7:80", "LOCALHOST"):
        reply = client(
            "POST", "/api/parse", b'{"text": "a"}', {**JSON, "host": host, "origin": f"http://{host}"}
        )
        assert reply.status == 200, host
    named = Client(hosts=("trees.example",))
    assert named("GET", "/", headers={"host": "trees.example:8080"}).status == 200
    assert named("GET", "/", headers={"host": "other.example:8080"}).status == 403


# Limits


def test_size_limits():
    client = Client(Limits(body=2000, sentences=3, words=10, ranked_words=5, ranked_sentences=1, trees=2))
    assert client.post("/api/parse", {"text": "a b. c d. e f."}).status == 200
    reply = client.post("/api/parse", {"text": "a. b. c. d."})
    assert (reply.status, reply.code) == (413, "too_many_sentences")
    reply = client.post("/api/parse", {"text": "a " * 11})
    assert (reply.status, reply.code) == (413, "sentence_too_long")
    assert client.post("/api/parse", {"text": "a " * 10}).status == 200
    assert client.post("/api/parse", {"text": "a " * 10, "k": 2}).code == "sentence_too_long"
    assert client.post("/api/parse", {"text": "a " * 10, "marginals": True}).code == "sentence_too_long"
    assert client.post("/api/parse", {"text": "a. b.", "k": 2}).code == "too_many_sentences"
    assert client.post("/api/parse", {"text": "a", "k": 3}).code == "bad_request"
    reply = client.post("/api/parse", {"text": "a" * 2000})
    assert (reply.status, reply.code) == (413, "too_large")


def test_large_bodies_are_rejected_without_being_stored(client):
    chunk = b"x" * 65536
    reply = client("POST", "/api/parse", headers=JSON, chunks=[chunk] * 160)
    assert (reply.status, reply.code) == (413, "too_large")
    reply = client("POST", "/api/parse", headers={**JSON, "content-length": str(10**12)}, chunks=[chunk])
    assert (reply.status, reply.code) == (413, "too_large")
    line = json.dumps({"text": "x" * 900_000}).encode()
    assert client("POST", "/api/parse", line, JSON).status == 200  # one long word


def test_slow_bodies_are_rejected():
    client = Client(Limits(seconds=1))
    reply = client("POST", "/api/parse", headers=JSON, chunks=[b"{", 2.0])
    assert (reply.status, reply.code) == (408, "slow_request")


class Slow(Engine):
    """Waits for an event before it parses slow sentences."""

    def __init__(self, is_slow=lambda sentences: True):
        super().__init__(parser(), "slow")
        self.go, self.is_slow = threading.Event(), is_slow
        self.most = self.now = 0

    def parse(self, sentences, *, k, marginals):
        self.now += 1
        self.most = max(self.most, self.now)
        if self.is_slow(sentences):
            self.go.wait(5)
        self.now -= 1
        return super().parse(sentences, k=k, marginals=marginals)


def test_full_queue_is_reported_as_busy():
    slow = Slow()
    client = Client(Limits(running=2, waiting=3, seconds=10), model=slow)

    async def scenario():
        calls = [
            asyncio.ensure_future(client.call("POST", "/api/parse", b'{"text": "a"}', JSON)) for _ in range(9)
        ]
        await asyncio.sleep(0.3)
        page = await client.call("GET", "/")  # needs no place
        slow.go.set()
        return page, await asyncio.gather(*calls)

    page, replies = asyncio.run(scenario())
    assert page.status == 200
    assert sorted(reply.status for reply in replies) == [200] * 8 + [503]
    refused = next(reply for reply in replies if reply.status == 503)
    assert refused.code == "busy"
    assert refused.headers["retry-after"] == "1"
    assert slow.most == 3  # small requests have one more thread


LARGE = json.dumps({"text": "a " * 200}).encode()


def test_small_requests_do_not_wait_for_large_ones():
    slow = Slow(is_slow=lambda sentences: len(sentences[0]) > 100)
    client = Client(Limits(running=2, waiting=3, seconds=10), model=slow)

    async def scenario():
        calls = [asyncio.ensure_future(client.call("POST", "/api/parse", LARGE, JSON)) for _ in range(9)]
        await asyncio.sleep(0.3)
        small = [await client.call("POST", "/api/parse", b'{"text": "a"}', JSON) for _ in range(3)]
        assert slow.now == 2
        slow.go.set()
        return small, await asyncio.gather(*calls)

    small, large = asyncio.run(scenario())
    assert [reply.status for reply in small] == [200] * 3
    assert sorted(reply.status for reply in large) == [200] * 5 + [503] * 4


def test_requests_that_cost_too_much_are_rejected_at_once():
    slow = Slow()
    slow.go.set()
    client = Client(Limits(work=2_000_000, words=110), model=slow)
    assert client.post("/api/parse", {"text": "a " * 100 + ". b"}).status == 200
    reply = client.post("/api/parse", {"text": ("a " * 100 + ". ") * 3})
    assert (reply.status, reply.code) == (413, "too_much_work")
    assert slow.most == 1


def test_late_computations_are_stopped():
    """25 sentences of equal words, of which a pruner drops no arc, take far longer than a second."""
    ended = threading.Event()

    class Watched(Engine):
        def parse(self, sentences, *, k, marginals):
            try:
                return super().parse(sentences, k=k, marginals=marginals)
            except StoppedError:
                ended.set()
                raise

    client = Client(Limits(seconds=1, words=2000, work=10**12), model=Watched(parser(order=2), "watched"))
    reply = client.post("/api/parse", {"text": ("tafo " * 1500 + ". ") * 25})
    assert (reply.status, reply.code) == (503, "timeout")
    assert ended.wait(2)


def test_late_work_keeps_its_thread():
    slow = Slow()
    client = Client(Limits(running=1, waiting=5, seconds=1), model=slow)

    async def scenario():
        calls = [client.call("POST", "/api/parse", b'{"text": "a"}', JSON) for _ in range(3)]
        late = await asyncio.gather(*calls)  # two run, one waits, all too long
        again = await client.call("POST", "/api/parse", b'{"text": "a"}', JSON)
        slow.go.set()
        await asyncio.sleep(0.2)
        return [*late, again], await client.call("POST", "/api/parse", b'{"text": "a"}', JSON)

    late, fine = asyncio.run(scenario())
    assert [(reply.status, reply.code) for reply in late] == [(503, "timeout")] * 4
    assert fine.status == 200
    assert slow.most == 2  # what is late keeps its place


def test_internal_errors_reveal_nothing(capsys):
    class Broken(Engine):
        def parse(self, sentences, *, k, marginals):
            raise RuntimeError("secret")

    client = Client(model=Broken(parser(), "broken"), quiet=False)
    reply = client.post("/api/parse", {"text": "private words"})
    assert (reply.status, reply.code) == (500, "internal")
    log = capsys.readouterr().err
    assert "RuntimeError" in log
    assert "secret" not in log + reply.body.decode()
    assert "private" not in log
    assert "127.0.0.1 POST /api/parse 500" in log


def test_workers_stop_with_the_server():
    async def scenario():
        workers = Workers(Limits())
        async with workers.lifespan(None):
            pass
        with pytest.raises(RuntimeError):
            await workers.run(lambda: Response(b""), asyncio.get_running_loop().time() + 1, large=False)

    asyncio.run(scenario())


def test_limits_are_checked():
    with pytest.raises(InputError):
        Limits(running=0)


# The description


def resolved(schema, document):
    while "$ref" in schema:
        *_, kind, name = schema["$ref"].split("/")
        schema = document["components"][kind][name]
    return schema


KINDS = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def conforms(value, schema, document):
    """Whether a value matches, for the part of JSON Schema that the document uses."""
    schema = resolved(schema, document)
    if "anyOf" in schema:
        return any(conforms(value, each, document) for each in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, KINDS[kind]) for kind in kinds):
        return False
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        known = schema.get("additionalProperties", True) or set(value) <= set(properties)
        whole = set(schema.get("required", ())) <= set(value)
        return (
            known
            and whole
            and all(conforms(value[k], s, document) for k, s in properties.items() if k in value)
        )
    if isinstance(value, list):
        return len(value) >= schema.get("minItems", 0) and all(
            conforms(each, schema["items"], document) for each in value
        )
    if isinstance(value, (int, float)):
        return schema.get("minimum", value) <= value <= schema.get("maximum", value)
    return True


def test_description_lists_the_routes(client):
    document = client("GET", "/openapi.json").json
    assert document["openapi"].startswith("3.1")
    described = {(path, method.upper()) for path, item in document["paths"].items() for method in item}
    routes = {(route.path, method) for route in client.application.routes for method in route.methods}
    assert {
        route for route in routes if route[0].startswith(("/api", "/openapi")) and route[1] != "HEAD"
    } == (described)
    assert {
        name for name, schema in document["components"]["schemas"].items() if not schema["properties"]
    } == set()
    assert document["components"]["schemas"]["ParseRequest"]["properties"]["k"]["maximum"] == Limits().trees
    names = [operation["operationId"] for item in document["paths"].values() for operation in item.values()]
    assert len(set(names)) == len(names)
    references = [part.split('"')[0] for part in json.dumps(document).split('"$ref": "')[1:]]
    assert references
    assert all(resolved({"$ref": reference}, document) for reference in references)


def test_responses_match_the_description(client):
    document = client("GET", "/openapi.json").json

    def schema_of(path, method, status="200"):
        response = resolved(document["paths"][path][method]["responses"][status], document)
        return response["content"]["application/json"]["schema"]

    assert conforms(client("GET", "/api/info").json, schema_of("/api/info", "get"), document)
    asked = [
        {"text": TEXT},
        {"conllu": CONLLU, "k": 3, "marginals": True, "keep": [{"word": 1, "head": 2, "deprel": "x"}]},
    ]
    question = document["paths"]["/api/parse"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    for body in asked:
        assert conforms(body, question, document)
        assert conforms(client.post("/api/parse", body).json, schema_of("/api/parse", "post"), document)
    assert not conforms({"sentences": []}, schema_of("/api/parse", "post"), document)
    wrong = client.post("/api/parse", {}).json
    assert conforms(wrong, schema_of("/api/parse", "post", "default"), document)


# Splitting without a segmenter


def test_splitting_without_a_segmenter():
    found = list(split_plainly('He said: "Go!" (U.S.)\tdon\'t\nnew line'))
    assert [list(s.forms) for s in found] == [
        ["He", "said", ":", '"', "Go", "!", '"', "(", "U.S", ".", ")", "don't"],
        ["new", "line"],
    ]
    assert found[0].text == 'He said: "Go!" (U.S.) don\'t'
    assert [list(s.forms) for s in split_plainly("A b. C d? ... e")] == [
        ["A", "b", "."],
        ["C", "d", "?"],
        [".", ".", "."],
        ["e"],
    ]
    assert list(split_plainly(" \n\n")) == []
