"""UDPipe's REST calls in the shapes in which clients of its service send them."""

import email.mime.multipart
import email.mime.nonmultipart
import email.policy
import json
from urllib.parse import quote, urlencode

import pytest

pytest.importorskip("starlette", reason="the server needs starlette (extra: serve)")
pytest.importorskip("msgspec", reason="the server needs msgspec (extra: serve)")
import pipeline_toys
from serving_toys import Client, engine

from arbora.data.columns import parse_text
from arbora.web.limits import Limits
from arbora.web.serving import Engine

TEXT = "Ann visits the dogs. Bob called the boat!"
URLENCODED = {"content-type": "application/x-www-form-urlencoded"}
CONLLU = "1\tAnn\t_\tPROPN\t_\t_\t_\t_\t_\t_\n2\tvisits\t_\tVERB\t_\t_\t_\t_\t_\tX=1\n\n"


@pytest.fixture(scope="module")
def model():
    return Engine(pipeline_toys.trained().pipeline, "toy_words.arbora")


@pytest.fixture(scope="module")
def client(model):
    return Client(model=model, origins=("https://trees.example",))


def read(reply):
    """The sentences of a response, as a client reads them."""
    assert reply.status == 200, reply.body
    assert reply.headers["content-type"] == "application/json"
    assert set(reply.json) == {"model", "acknowledgements", "result"}
    assert isinstance(reply.json["acknowledgements"], list)
    return list(parse_text(reply.json["result"]).sentences())


def post(client, **parameters):
    return client("POST", "/process", urlencode(parameters).encode(), URLENCODED)


def is_parsed(sentences):
    forms = [list(sentence.forms) for sentence in sentences]
    assert forms == [["Ann", "visits", "the", "dogs", "."], ["Bob", "called", "the", "boat", "!"]]
    assert all(set(sentence.upos) > {"VERB"} for sentence in sentences)
    assert all(sentence.heads.count(0) == 1 for sentence in sentences)
    assert all("_" not in sentence.deprels for sentence in sentences)


# Shapes of requests


def test_the_command_line_client_of_udpipe_2(client):
    """Multipart, made by Python's email package, with a charset and an encoding in every part."""
    message = email.mime.multipart.MIMEMultipart("form-data", policy=email.policy.HTTP)
    sent = {"input": "conllu", "output": "conllu", "data": "Ann visits the ø.\n", "model": "toy"}
    for name, value in {**sent, "tokenizer": "", "parser": "", "tagger": ""}.items():
        part = email.mime.nonmultipart.MIMENonMultipart("text", "plain")
        part.add_header("Content-Disposition", f'form-data; name="{name}"')
        part.add_header("Content-Transfer-Encoding", "8bit")
        part.set_payload(value, charset="utf-8")
        message.attach(part)
    body = message.as_bytes().split(b"\r\n\r\n", maxsplit=1)[1]
    reply = client("POST", "/process", body, {"content-type": message["Content-Type"]})
    (sentence,) = read(reply)
    assert list(sentence.forms) == ["Ann", "visits", "the", "ø", "."]
    assert reply.json["model"] == "toy-words"
    found = client("GET", "/models").json
    assert found == {"models": {"toy-words": ["tokenizer", "tagger", "parser"]}, "default_model": "toy-words"}


def test_the_parser_front_end_of_conllu_editor(client):
    """A form from Java; the other parameters and the path to the result are in its configuration."""
    body = urlencode({"data": TEXT, "model": "toy-words", "tagger": "", "parser": "", "tokenizer": ""})
    reply = client(
        "POST", "/process", body.encode(), {**URLENCODED, "user-agent": "Java/17", "accept": "*/*"}
    )
    is_parsed(read(reply))


def test_curl_with_a_file(client):
    boundary = "------------------------d74496d66958873e"
    file = (
        'Content-Disposition: form-data; name="data"; filename="in.txt"\r\nContent-Type: text/plain\r\n\r\n'
    )
    parts = [file + TEXT]
    for name in ("model", "tokenizer", "tagger", "parser"):
        value = "toy" if name == "model" else ""
        parts.append(f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}')
    body = "".join(f"--{boundary}\r\n{part}\r\n" for part in parts) + f"--{boundary}--\r\n"
    kind = {"content-type": f"multipart/form-data; boundary={boundary}"}
    is_parsed(read(client("POST", "/process", body.encode(), kind)))


@pytest.mark.parametrize("flags", ["tokenizer&tagger&parser", "tokenizer=&tagger=&parser="])
def test_addresses_with_parameters(client, flags):
    """From browsers and short scripts: no body, options without a value."""
    is_parsed(read(client("GET", f"/process?{flags}&model=toy&data={quote(TEXT)}")))
    is_parsed(read(client("POST", f"/process?{flags}", urlencode({"data": TEXT}).encode(), URLENCODED)))


def test_sentences_on_lines(client):
    text = "Ann visits the dogs. Bob called\nthe boat !\n"
    found = read(post(client, data=text, tokenizer="presegmented", tagger="", parser=""))
    assert [sentence.text for sentence in found] == ["Ann visits the dogs. Bob called", "the boat !"]


def test_places_in_the_text(client):
    found = read(post(client, data="Ann  visits the dogs.", tokenizer="ranges"))
    assert [(word.start, word.end) for word in found[0]] == [(0, 3), (5, 11), (12, 15), (16, 20), (20, 21)]
    assert found[0].misc[3] == "SpaceAfter=No|TokenRange=16:20"


def test_places_of_multiword_tokens():
    from arbora.data.sentence import MultiwordToken, Sentence
    from arbora.web.doors.udpipe import _with_ranges

    token = MultiwordToken(2, 3, ("du", *"_" * 8))
    sentence = Sentence.from_lists(["a", "de", "le", "b"])
    object.__setattr__(sentence, "multiword_tokens", (token,))
    found = _with_ranges(sentence, [(0, 1), (2, 4), (2, 4), (5, 6)])
    assert found.misc == ("TokenRange=0:1", "_", "_", "TokenRange=5:6")
    assert found.multiword_tokens[0].misc == "TokenRange=2:4"


def test_words_that_are_split_already(client):
    lines = "Ann visits the dogs .\n\nBob called the boat !"
    is_parsed(read(post(client, data=lines, input="horizontal", tagger="", parser="")))
    words = "Ann\nvisits\nthe\ndogs\n.\n\nBob\ncalled\nthe\nboat\n!\n"
    is_parsed(read(post(client, data=words, input="vertical", tagger="", parser="")))
    reply = post(client, data=lines, input="horizontal", output="vertical")
    assert reply.json["result"] == words + "\n"
    reply = post(client, data=words, input="vertical", output="horizontal")
    assert reply.json["result"] == "Ann visits the dogs .\nBob called the boat !\n"


# What is computed


def test_each_part_is_asked_for(client):
    (words,) = read(post(client, data="Ann visits the dogs.", tokenizer=""))
    assert set(words.upos) | set(words.lemmas) | set(words.deprels) == {"_"}
    assert set(words.heads) == {-1}
    (tagged,) = read(post(client, data="Ann visits the dogs.", tokenizer="", tagger=""))
    assert tagged.upos == ("PROPN", "VERB", "DET", "NOUN", "PUNCT")
    assert tagged.lemmas[1] == "visit"
    assert set(tagged.heads) == {-1}
    (parsed,) = read(post(client, data="Ann visits the dogs.", tokenizer="", parser=""))
    assert set(parsed.upos) == {"_"}
    assert 0 in parsed.heads


def test_given_words_are_kept(client):
    (untouched,) = read(post(client, data=CONLLU))
    assert untouched.to_conllu().endswith(CONLLU)
    (parsed,) = read(post(client, data=CONLLU, parser=""))
    assert (parsed.upos, parsed.misc) == (("PROPN", "VERB"), ("_", "X=1"))
    assert sorted(parsed.heads)[0] == 0
    (tagged,) = read(post(client, data=CONLLU.replace("VERB", "NOUN"), tagger=""))
    assert tagged.upos == ("PROPN", "VERB")


def test_the_result_says_what_made_it(client):
    comments = read(post(client, data=TEXT, tokenizer=""))[0].comments
    assert comments[1] == "# udpipe_model = toy-words"
    assert "# sent_id = 1" in comments
    assert "# text = Ann visits the dogs." in comments


def test_no_data_is_no_result(client):
    assert post(client, data=" \n", tokenizer="", tagger="", parser="").json["result"] == ""


@pytest.mark.parametrize("name", ["", "toy", "toy-words", "TOY_words", "toy-words-ud-2.15-241121"])
def test_names_of_the_model(client, name):
    assert post(client, data=CONLLU, model=name).json["model"] == "toy-words"


# Rejected requests


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"tokenizer": ""},
        {"data": "a", "model": "czech"},
        {"data": "a", "model": "toy-wordsmith"},
        {"data": "a", "tokenizer": "normalize"},
        {"data": "a"},
        {"data": "1\ta\n", "input": "conllu"},
        {"data": "a", "input": "matxin"},
        {"data": "a", "tokenizer": "", "output": "epe"},
    ],
)
def test_errors_are_plain_text(client, parameters):
    reply = post(client, **parameters)
    assert reply.status in (400, 422)
    assert reply.headers["content-type"].startswith("text/plain")
    assert 10 < len(reply.body.decode()) < 500


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("application/json", b'{"data": "a"}', 415),
        ("text/plain", b"data=a", 415),
        ("multipart/form-data", b"", 400),
        ("multipart/form-data; boundary=", b"----", 400),
        ("multipart/form-data; boundary=" + "x" * 500, b"", 400),
        ("multipart/form-data; boundary=x", b"", 400),
        ("multipart/form-data; boundary=x", b"--x\r\n\r\na\r\n--x--", 400),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="data"\r\n\r\na',
            400,
        ),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data\r\n\r\na\r\n--x--", 400),
        ("multipart/form-data; boundary=x", b"--x\r\n\xff: \r\n\r\na\r\n--x--", 400),
        ("multipart/form-data; boundary=x", b"--x\r\nA: b\r\n\r\n\xff\r\n--x--", 400),
        ("multipart/form-data; boundary=x", b"--x\r\n\r\n" * 1000 + b"--x--", 400),
        ("application/x-www-form-urlencoded", b"data=%ff", 400),
        ("application/x-www-form-urlencoded", b"data=\xff", 400),
        ("application/x-www-form-urlencoded", b"a&" * 1000, 400),
    ],
)
def test_bad_forms_are_rejected(client, kind, body, status):
    assert client("POST", "/process", body, {"content-type": kind}).status == status


def test_the_limits_of_the_server_hold(model):
    client = Client(Limits(body=500, sentences=2, words=6), model=model)
    assert post(client, data=TEXT, tokenizer="").status == 200
    assert post(client, data=TEXT + TEXT, tokenizer="").status == 413
    assert post(client, data="a " * 7, input="horizontal").status == 413
    assert post(client, data="a" * 600, tokenizer="").status == 413


def test_parts_that_the_model_lacks():
    client = Client(model=engine())
    assert client("GET", "/models").json["models"] == {"toy": ["parser"]}
    for part in ("tokenizer", "tagger"):
        assert post(client, **{"data": "a b", "input": "horizontal", part: ""}).status == 400
    assert read(post(client, data="a b", input="horizontal", parser=""))[0].heads.count(0) == 1


# Other pages


ORIGIN = {"origin": "https://trees.example", "sec-fetch-site": "cross-site"}


def test_a_page_of_an_allowed_origin_may_call(client):
    body = urlencode({"data": CONLLU, "parser": ""}).encode()
    for reply in (
        client("POST", "/process", body, {**URLENCODED, **ORIGIN}),
        client("GET", "/models", headers=ORIGIN),
        client("POST", "/process", b"", {**URLENCODED, **ORIGIN}),  # its script can read the error
        client("OPTIONS", "/process", headers={**ORIGIN, "access-control-request-method": "POST"}),
    ):
        assert reply.status in (200, 204, 400)
        assert reply.headers["access-control-allow-origin"] == "https://trees.example"
        assert reply.headers["vary"] == "origin"


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "https://trees.example.evil.example"])
def test_other_pages_may_not_call(client, origin):
    body = urlencode({"data": CONLLU}).encode()
    for headers in ({"origin": origin}, {"sec-fetch-site": "cross-site"}):
        for method, path in (("POST", "/process"), ("GET", "/process?data=a"), ("GET", "/models")):
            reply = client(method, path, body if method == "POST" else b"", {**URLENCODED, **headers})
            assert reply.status == 403
            assert "access-control-allow-origin" not in reply.headers
    page = {**ORIGIN, "content-type": "application/json"}
    assert client("POST", "/api/parse", json.dumps({"text": "a"}).encode(), page).status == 403
