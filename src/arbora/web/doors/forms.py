"""Parameters of a request: in its query, and in a body of either kind that forms have."""

from __future__ import annotations

from email.message import Message
from urllib.parse import parse_qsl

from arbora.web.api import Rejected

URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
MOST_FIELDS = 50


def read_parameters(query: bytes, content_type: str = "", body: bytes = b"") -> dict[str, str]:
    """The parameters by name; those of the body replace those of the query, a later one an earlier one."""
    header = Message()
    header["content-type"] = content_type
    fields = _read_urlencoded(query)
    kind = content_type.partition(";")[0].strip().lower()
    if kind == MULTIPART:
        boundary = header.get_param("boundary")
        if not isinstance(boundary, str) or not 0 < len(boundary) <= 70:
            raise Rejected(400, "bad_form", "content-type: expected a boundary of 1 to 70 characters")
        fields += _read_multipart(body, boundary)
    elif kind == URLENCODED or (not kind and not body):
        fields += _read_urlencoded(body)
    else:
        raise Rejected(
            415, "bad_type", f"content-type: expected {MULTIPART} or {URLENCODED}, got {kind[:60] or 'none'}"
        )
    return dict(fields)


def _read_urlencoded(data: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            data.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS
        )
    except UnicodeDecodeError:
        raise Rejected(400, "bad_encoding", "form: expected UTF-8") from None
    except ValueError:
        raise Rejected(400, "bad_form", f"form: expected at most {MOST_FIELDS} parameters") from None


def _read_multipart(body: bytes, boundary: str) -> list[tuple[str, str]]:
    """The fields between `--boundary` lines; each has headers, an empty line, and its value."""
    marker = b"\r\n--" + boundary.encode("utf-8", "replace")
    before, *parts = (b"\r\n" + body).split(marker, MOST_FIELDS + 2)
    if before.strip() or not parts or not parts[-1].startswith(b"--"):
        message = f"form: expected at most {MOST_FIELDS} parts between boundaries, and a closing boundary"
        raise Rejected(400, "bad_form", message)
    return [_read_part(part) for part in parts[:-1]]


def _read_part(part: bytes) -> tuple[str, str]:
    header, is_whole, value = part.partition(b"\r\n\r\n")
    disposition = Message()
    try:
        for line in header.decode("utf-8").split("\r\n"):
            name, _, content = line.partition(":")
            if name.strip().lower() == "content-disposition":
                disposition["content-disposition"] = content.strip()
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        raise Rejected(400, "bad_encoding", "form: expected UTF-8") from None
    field = disposition.get_param("name", header="content-disposition")
    if not is_whole or not isinstance(field, str):
        raise Rejected(400, "bad_form", "form: expected a name in each part (Content-Disposition)")
    return field, text
