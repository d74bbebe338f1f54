"""Requests and responses that two parsers could read in two ways: each is refused once, and nothing behind it is ever read as another one."""
import json
import random
import re
import socket

import pytest

import harness
import inside

PORT = 8080
SECOND = "GET /sandbox/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
HEAD = "POST {path} HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = HEAD + "Transfer-Encoding: chunked\r\n\r\n"

# What a head, or the framing of a body, may not be: 400, or the status that follows the text. {second} would be a request of its own to a
# parser that reads on.
REQUESTS = {
    "a bare CR ends the head": HEAD + "\rX{second}",
    "a bare CR ends the request line": "POST {path} HTTP/1.1\rXHost: localhost\r\n\r\n{second}",
    "a bare CR ends a header": HEAD + "A: b\rContent-Length: 5\r\n\r\n{second}",
    "a bare CR hides an encoding": HEAD + "A: b\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{second}",
    "a bare CR in a name": HEAD + "A\rB: c\r\n\r\n{second}",
    "a bare CR before the request": "\r" + HEAD + "\r\n{second}",
    "CR CR LF": HEAD + "A: b\r\r\n\r\n{second}",
    "a bare LF ends the head": HEAD + "\n{second}",
    "a bare LF ends a header": HEAD + "A: b\nContent-Length: 5\r\n\r\n{second}",
    "a bare LF hides an encoding": HEAD + "A: b\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{second}",
    "bare LF everywhere": "POST {path} HTTP/1.1\nHost: localhost\n\n{second}",
    "a folded header": HEAD + "Content-Length:\r\n 5\r\n\r\nabcde{second}",
    "a header folded by a tab": HEAD + "Transfer-Encoding:\r\n\tchunked\r\n\r\n0\r\n\r\n{second}",
    "a folded value": HEAD + "A: b\r\n Content-Length: 5\r\n\r\n{second}",
    "a blank before the colon": HEAD + "Content-Length : 5\r\n\r\nabcde{second}",
    "a tab before the colon": HEAD + "Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n{second}",
    "a blank before the first header": "POST {path} HTTP/1.1\r\n Host: localhost\r\n\r\n{second}",
    "a blank in a name": HEAD + "Content Length: 5\r\n\r\nabcde{second}",
    "a header without a colon": HEAD + "Content-Length\r\n\r\n{second}",
    "a header without a name": HEAD + ": 5\r\n\r\n{second}",
    "a NUL in a value": HEAD + "A: b\0c\r\n\r\n{second}",
    "a NUL in a name": HEAD + "Content-\0Length: 5\r\n\r\nabcde{second}",
    "a control byte in a value": HEAD + "A: b\x01c\r\n\r\n{second}",
    "a DEL in a value": HEAD + "A: b\x7fc\r\n\r\n{second}",
    "a control byte in a name": HEAD + "Transfer-Encoding\x0b: chunked\r\n\r\n0\r\n\r\n{second}",
    "a high byte in a name": HEAD + "Transfer-Encoding\xa0: chunked\r\n\r\n0\r\n\r\n{second}",
    "two lengths": HEAD + "Content-Length: 0\r\nContent-Length: 5\r\n\r\nabcde{second}",
    "the same length twice": HEAD + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nabcde{second}",
    "a list of lengths": HEAD + "Content-Length: 0, 5\r\n\r\nabcde{second}",
    "a list of the same length": HEAD + "Content-Length: 5, 5\r\n\r\nabcde{second}",
    "a signed length": HEAD + "Content-Length: +5\r\n\r\nabcde{second}",
    "a negative length": HEAD + "Content-Length: -5\r\n\r\nabcde{second}",
    "an empty length": HEAD + "Content-Length:\r\n\r\nabcde{second}",
    "a blank inside a length": HEAD + "Content-Length: 0 5\r\n\r\nabcde{second}",
    "a length in quotes": HEAD + 'Content-Length: "5"\r\n\r\nabcde{second}',
    "a length with a fraction": HEAD + "Content-Length: 5.0\r\n\r\nabcde{second}",
    "a length with an underscore": HEAD + "Content-Length: 0_5\r\n\r\nabcde{second}",
    "a hexadecimal length": HEAD + "Content-Length: 0x5\r\n\r\nabcde{second}",
    "a length beyond 63 bits": HEAD + "Content-Length: 9223372036854775808\r\n\r\n{second}",
    "a length beyond 64 bits": HEAD + "Content-Length: 18446744073709551616\r\n\r\n{second}",
    "a length by another name": HEAD + "Content_Length: 5\r\n\r\nabcde{second}",
    "length and encoding": HEAD + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{second}",
    "encoding and length": HEAD + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n{second}",
    "length and no known encoding": HEAD + "Content-Length: 5\r\nTransfer-Encoding: x\r\n\r\nabcde{second}",
    "length and an encoding by another name": HEAD + "Content-Length: 5\r\nTransfer_Encoding: chunked\r\n\r\nabcde{second}",
    "two encodings": HEAD + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n{second}",
    "two encodings, the other first": HEAD + "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{second}",
    "the same encoding twice": HEAD + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{second}",
    "chunked in chunks": HEAD + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n{second}",
    "an unknown encoding": HEAD + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{second}",
    "an encoding before chunked": HEAD + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n{second}",
    "chunked is not the last encoding": HEAD + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{second}",
    "an empty encoding": HEAD + "Transfer-Encoding:\r\n\r\n{second}",
    "a comma before the encoding": HEAD + "Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n{second}",
    "a comma behind the encoding": HEAD + "Transfer-Encoding: chunked,\r\n\r\n0\r\n\r\n{second}",
    "an encoding with a parameter": HEAD + "Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n{second}",
    "an encoding in quotes": HEAD + 'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n{second}',
    "an encoding before a tab": HEAD + "Transfer-Encoding: chunked\t\r\n\r\n0\r\n\r\n{second}",
    "an encoding behind a vertical tab": HEAD + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n{second}",
    "an encoding and a NUL": HEAD + "Transfer-Encoding: chunked\0\r\n\r\n0\r\n\r\n{second}",
    "an encoding in HTTP/1.0": "POST {path} HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{second}",
    "two hosts": HEAD + "Host: evil.example\r\n\r\n{second}",
    "no host": "POST {path} HTTP/1.1\r\nA: b\r\n\r\n{second}",
    "a list of hosts": "POST {path} HTTP/1.1\r\nHost: localhost, evil.example\r\n\r\n{second}",
    "a host with a path": "POST {path} HTTP/1.1\r\nHost: localhost/x\r\n\r\n{second}",
    "a host with a user": "POST {path} HTTP/1.1\r\nHost: x@localhost\r\n\r\n{second}",
    "the target names another host": "POST http://evil.example{path} HTTP/1.1\r\nHost: localhost\r\n\r\n{second}",
    "the target has a user": "POST http://localhost@evil.example{path} HTTP/1.1\r\nHost: localhost\r\n\r\n{second}",
    "the target has another scheme": "POST ftp://localhost{path} HTTP/1.1\r\nHost: localhost\r\n\r\n{second}",
    "the target has a fragment": "POST {path}#x HTTP/1.1\r\nHost: localhost\r\n\r\n{second}",
    "a NUL in the target": "POST {path}\0 HTTP/1.1\r\nHost: localhost\r\n\r\n{second}",
    "a tab in the target": "POST {path}\tx HTTP/1.1\r\nHost: localhost\r\n\r\n{second}",
    "two blanks before the target": "POST  {path} HTTP/1.1\r\nHost: localhost\r\n\r\n{second}",
    "two blanks behind the target": "POST {path}  HTTP/1.1\r\nHost: localhost\r\n\r\n{second}",
    "a third word before the version": "POST {path} x HTTP/1.1\r\nHost: localhost\r\n\r\n{second}",
    "a blank behind the version": "POST {path} HTTP/1.1 \r\nHost: localhost\r\n\r\n{second}",
    "a blank before the method": (" POST {path} HTTP/1.1\r\nHost: localhost\r\n\r\n{second}", 501),
    "a tab behind the method": ("POST\t{path} HTTP/1.1\r\nHost: localhost\r\n\r\n{second}", 501),
    "a method in small letters": ("post {path} HTTP/1.1\r\nHost: localhost\r\n\r\n{second}", 501),
    "an unknown method": ("BREW {path} HTTP/1.1\r\nHost: localhost\r\n\r\n{second}", 501),
    "a tunnel": ("CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n{second}", 501),
    "no version": "GET {path}\r\n{second}",
    "a version in small letters": "POST {path} http/1.1\r\nHost: localhost\r\n\r\n{second}",
    "a version of three digits": "POST {path} HTTP/1.10\r\nHost: localhost\r\n\r\n{second}",
    "a version with a zero before it": ("POST {path} HTTP/01.1\r\nHost: localhost\r\n\r\n{second}", 505),
    "HTTP/0.9": ("POST {path} HTTP/0.9\r\nHost: localhost\r\n\r\n{second}", 505),
    "HTTP/1.2": ("POST {path} HTTP/1.2\r\nHost: localhost\r\n\r\n{second}", 505),
    "HTTP/2.0 in a request line": ("POST {path} HTTP/2.0\r\nHost: localhost\r\n\r\n{second}", 505),
    "RTSP": "OPTIONS {path} RTSP/1.0\r\nHost: localhost\r\n\r\n{second}",
    "ICE": "SOURCE {path} ICE/1.0\r\nHost: localhost\r\n\r\n{second}",
    "a CR ends a chunk size": CHUNKED + "3\rXabc\r\n0\r\n\r\n{second}",
    "a LF ends a chunk size": CHUNKED + "3\nabc\r\n0\r\n\r\n{second}",
    "a CR ends an extension": CHUNKED + "3;a=b\rXabc\r\n0\r\n\r\n{second}",
    "a LF ends an extension": CHUNKED + "3;a=b\nabc\r\n0\r\n\r\n{second}",
    "a LF in a quoted extension": CHUNKED + '3;a="b\nc"\r\nabc\r\n0\r\n\r\n{second}',
    "a NUL in an extension": CHUNKED + "3;a=\0\r\nabc\r\n0\r\n\r\n{second}",
    "a blank before a chunk size": CHUNKED + " 3\r\nabc\r\n0\r\n\r\n{second}",
    "a blank after a chunk size": CHUNKED + "3 \r\nabc\r\n0\r\n\r\n{second}",
    "a tab after a chunk size": CHUNKED + "3\t\r\nabc\r\n0\r\n\r\n{second}",
    "a NUL after a chunk size": CHUNKED + "3\0\r\nabc\r\n0\r\n\r\n{second}",
    "a sign before a chunk size": CHUNKED + "+3\r\nabc\r\n0\r\n\r\n{second}",
    "a minus before a chunk size": CHUNKED + "-0\r\n\r\n{second}",
    "0x before a chunk size": CHUNKED + "0x3\r\nabc\r\n0\r\n\r\n{second}",
    "an underscore in a chunk size": CHUNKED + "0_3\r\nabc\r\n0\r\n\r\n{second}",
    "a comma in a chunk size": CHUNKED + "3,0\r\nabc\r\n0\r\n\r\n{second}",
    "a chunk size beyond 64 bits": CHUNKED + "10000000000000003\r\nabc\r\n0\r\n\r\n{second}",
    "an empty chunk size": CHUNKED + "\r\n0\r\n\r\n{second}",
    "an extension without a size": CHUNKED + ";a=b\r\n0\r\n\r\n{second}",
    "more data than the chunk size": CHUNKED + "2\r\nabc\r\n0\r\n\r\n{second}",
    "less data than the chunk size": CHUNKED + "5\r\nabc\r\n0\r\n\r\n{second}",
    "other bytes behind a chunk": CHUNKED + "3\r\nabcXX0\r\n\r\n{second}",
    "nothing behind a chunk": CHUNKED + "3\r\nabc0\r\n\r\n{second}",
    "a CR and a byte behind a chunk": CHUNKED + "3\r\nabc\rX0\r\n\r\n{second}",
    "a LF behind a chunk": CHUNKED + "3\r\nabc\n0\r\n\r\n{second}",
    "an empty line behind a chunk": CHUNKED + "3\r\nabc\r\n\r\n0\r\n\r\n{second}",
    "a CR ends the last chunk": CHUNKED + "0\rX\r\n{second}",
    "a LF ends the last chunk": CHUNKED + "0\n\r\n{second}",
    "a CR and a byte end the body": CHUNKED + "0\r\n\rX{second}",
    "a LF ends the body": CHUNKED + "0\r\n\n{second}",
    "a CR ends a trailer": CHUNKED + "0\r\nT: a\rXU: b\r\n\r\n{second}",
    "a LF ends a trailer": CHUNKED + "0\r\nT: a\n\r\n{second}",
    "a folded trailer": CHUNKED + "0\r\nT: a\r\n b\r\n\r\n{second}",
    "an encoding for a trailer": CHUNKED + "0\r\nTransfer-Encoding: x\r\n\r\n{second}",
    "two lengths for trailers": CHUNKED + "0\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{second}",
    "a request line for a trailer": CHUNKED + "0\r\n{second}",
}

# What is allowed, and ends where this table says: a body, in which {body} is a request, and then the next request.
LENGTH = "Content-Length: {length}\r\n"
BODIES = {
    "a length": HEAD + LENGTH + "\r\n{body}",
    "a length with zeros before it": HEAD + "Content-Length: 000{length}\r\n\r\n{body}",
    "a length after an empty line": "\r\n" + HEAD + LENGTH + "\r\n{body}",
    "a length in HTTP/1.0": "POST {path} HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n" + LENGTH + "\r\n{body}",
    "a length of a GET": "GET {path} HTTP/1.1\r\nHost: localhost\r\n" + LENGTH + "\r\n{body}",
    "a length of a DELETE": "DELETE {path} HTTP/1.1\r\nHost: localhost\r\n" + LENGTH + "\r\n{body}",
    "a length that Connection names": HEAD + LENGTH + "Connection: Content-Length\r\n\r\n{body}",
    "a length that a second Connection names": HEAD + LENGTH + "Connection: keep-alive\r\nConnection: x, content-length\r\n\r\n{body}",
    "a length and an upgrade to h2c": HEAD + LENGTH + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n{body}",
    "a length and an expectation": HEAD + LENGTH + "Expect: 100-continue\r\n\r\n{body}",
    "a target with its host": "POST http://localhost{path} HTTP/1.1\r\nHost: localhost\r\n" + LENGTH + "\r\n{body}",
    "chunks": CHUNKED + "{hex}\r\n{body}\r\n0\r\n\r\n",
    "chunks in capital letters": HEAD + "TRANSFER-ENCODING: CHUNKED\r\n\r\n00{hex}\r\n{body}\r\n0000\r\n\r\n",
    "chunks between blanks": HEAD + "Transfer-Encoding: \t chunked  \r\n\r\n{hex}\r\n{body}\r\n0\r\n\r\n",
    "chunks with extensions": CHUNKED + '{hex};a;b="c";d=e\r\n{body}\r\n0;g=h\r\n\r\n',
    "chunks with trailers": CHUNKED + "{hex}\r\n{body}\r\n0\r\nContent-Length: 5\r\nHost: evil.example\r\nConnection: x\r\n\r\n",
    "chunks that Connection names": HEAD + "Transfer-Encoding: chunked\r\nConnection: Transfer-Encoding, Host\r\n\r\n{hex}\r\n{body}\r\n0\r\n\r\n",
    "chunks and an expectation": HEAD + "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n{hex}\r\n{body}\r\n0\r\n\r\n",
}

OK = "HTTP/1.1 200 OK\r\n"
OK_CHUNKED = OK + "Transfer-Encoding: chunked\r\n\r\n"
INNER = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Second: 1\r\n\r\nhello"
RESPONSES = {
    "a bare CR ends the head": OK + "Content-Length: 0\r\n\rX" + INNER,
    "a bare CR ends a header": OK + "A: b\rContent-Length: 5\r\n\r\n" + INNER,
    "a bare LF ends the head": OK + "Content-Length: 0\r\n\n" + INNER,
    "a bare LF ends a header": OK + "A: b\nContent-Length: 0\r\n\r\n" + INNER,
    "CR CR LF": OK + "A: b\r\r\nContent-Length: 0\r\n\r\n" + INNER,
    "a folded header": OK + "Content-Length:\r\n 0\r\n\r\n" + INNER,
    "a blank before the colon": OK + "Content-Length : 0\r\n\r\n" + INNER,
    "a header without a colon": OK + "Content-Length\r\nContent-Length: 0\r\n\r\n" + INNER,
    "a NUL in a value": OK + "A: b\0c\r\nContent-Length: 0\r\n\r\n" + INNER,
    "a control byte in a value": OK + "A: b\x01c\r\nContent-Length: 0\r\n\r\n" + INNER,
    "a blank in a name": OK + "Set Cookie: a\r\nContent-Length: 0\r\n\r\n" + INNER,
    "two lengths": OK + "Content-Length: 0\r\nContent-Length: 5\r\n\r\n" + INNER,
    "the same length twice": OK + "Content-Length: 0\r\nContent-Length: 0\r\n\r\n" + INNER,
    "a list of lengths": OK + "Content-Length: 0, 5\r\n\r\n" + INNER,
    "a signed length": OK + "Content-Length: +0\r\n\r\n" + INNER,
    "an empty length": OK + "Content-Length:\r\n\r\n" + INNER,
    "a length beyond 63 bits": OK + "Content-Length: 18446744073709551615\r\n\r\n" + INNER,
    "a length beyond 64 bits": OK + "Content-Length: 18446744073709551616\r\n\r\n" + INNER,
    "length and encoding": OK + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + INNER,
    "encoding and length": OK + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + INNER,
    "two encodings": OK + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + INNER,
    "an unknown encoding": OK + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + INNER,
    "an encoding before chunked": OK + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + INNER,
    "an encoding behind chunked": OK + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + INNER,
    "an encoding before a tab": OK + "Transfer-Encoding: chunked\t\r\n\r\n0\r\n\r\n" + INNER,
    "an encoding in HTTP/1.0": "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + INNER,
    "HTTP/2.0": "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n" + INNER,
    "HTTP/0.9": "HTTP/0.9 200 OK\r\nContent-Length: 0\r\n\r\n" + INNER,
    "a status below 100": "HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n" + INNER,
    "a status of four digits": "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n" + INNER,
    "another protocol that nobody asked for": "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n" + INNER,
    "an interim response with a body": "HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\nabcde" + INNER,
    "an interim response in chunks": "HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + INNER,
    "interim responses without end": "(flood)" + INNER,  # (flood): 40,000 of them
    "a CR ends a chunk size": OK_CHUNKED + "3\rXabc\r\n0\r\n\r\n" + INNER,
    "a LF ends a chunk size": OK_CHUNKED + "3\nabc\r\n0\r\n\r\n" + INNER,
    "a blank after a chunk size": OK_CHUNKED + "3 \r\nabc\r\n0\r\n\r\n" + INNER,
    "a sign before a chunk size": OK_CHUNKED + "+3\r\nabc\r\n0\r\n\r\n" + INNER,
    "0x before a chunk size": OK_CHUNKED + "0x3\r\nabc\r\n0\r\n\r\n" + INNER,
    "a chunk size beyond 64 bits": OK_CHUNKED + "10000000000000003\r\nabc\r\n0\r\n\r\n" + INNER,
    "an empty chunk size": OK_CHUNKED + "\r\n0\r\n\r\n" + INNER,
    "a LF ends an extension": OK_CHUNKED + "3;a=b\nabc\r\n0\r\n\r\n" + INNER,
    "other bytes behind a chunk": OK_CHUNKED + "3\r\nabcXX0\r\n\r\n" + INNER,
    "nothing behind a chunk": OK_CHUNKED + "3\r\nabc0\r\n\r\n" + INNER,
    "a LF behind a chunk": OK_CHUNKED + "3\r\nabc\n0\r\n\r\n" + INNER,
    "a LF ends the last chunk": OK_CHUNKED + "0\n\r\n" + INNER,
    "a CR and a byte end the body": OK_CHUNKED + "0\r\n\rX" + INNER,
    "a LF ends the body": OK_CHUNKED + "0\r\n\n" + INNER,
    "a LF ends a trailer": OK_CHUNKED + "0\r\nT: a\n\r\n" + INNER,
    "a folded trailer": OK_CHUNKED + "0\r\nT: a\r\n b\r\n\r\n" + INNER,
    "less than its length": OK + "Content-Length: 500\r\n\r\nabc",
    "no last chunk": OK_CHUNKED + "3\r\nabc\r\n",
}

# (method, what the application sends, what the client gets): what follows the end of a response belongs to nobody.
ENDS = {
    "more than its length": ("GET", OK + "Content-Length: 2\r\n\r\nok" + INNER, 200, b"ok"),
    "more than its chunks": ("GET", OK_CHUNKED + "2;a=b\r\nok\r\n0\r\nT: a\r\n\r\n" + INNER, 200, b"ok"),
    "a length that Connection names": ("GET", OK + "Content-Length: 2\r\nConnection: content-length\r\n\r\nok" + INNER, 200, b"ok"),
    "a body of a 204": ("GET", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n" + INNER, 204, b""),
    "a body of a 304": ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n" + INNER, 304, b""),
    "chunks of a 304": ("GET", "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + INNER, 304, b""),
    "a body of a HEAD": ("HEAD", OK + "Content-Length: 5\r\n\r\n" + INNER, 200, b""),
    "chunks of a HEAD": ("HEAD", OK_CHUNKED + "2\r\nok\r\n0\r\n\r\n" + INNER, 200, b""),
    "interim responses": ("GET", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\nContent-Length: 0\r\n\r\n" + OK
                          + "Content-Length: 2\r\n\r\nok" + INNER, 200, b"ok"),
    "a response before the body": ("POST", OK + "Content-Length: 2\r\n\r\nok" + INNER, 200, b"ok"),
}

# GET /answer/N sends the N-th text as it is. Anything else is a request, read by the letter of RFC 9112: its line, headers, body and what
# follows the body until the connection ends are added to /tmp/asked.
RAW_APP = r"""
import json, socket, sys, threading
texts = %r
def note(what): open("/tmp/asked", "a").write(json.dumps(what) + "\n")
def take(f, n):
    data = f.read(n)
    if len(data) < n: raise EOFError
    return data
def body(f, head):
    if "transfer-encoding" not in head: return take(f, int(head.get("content-length", "0")))
    assert "content-length" not in head and head["transfer-encoding"] == "chunked", head
    data = b""
    while True:
        n = int(f.readline(), 16); data += take(f, n)
        line = f.readline()
        assert line == b"\r\n", line
        if n == 0: return data
def serve(c):
    f = c.makefile("rb"); line = f.readline().decode("latin-1")
    fields = []
    while True:
        field = f.readline().strip()
        if not field: break
        name, _, value = field.decode("latin-1").partition(":"); fields.append((name.lower(), value.strip()))
    head, parts = dict(fields), line.split(" ")[1].split("/")
    if parts[1] == "answer": c.sendall(texts[int(parts[2])].replace("(flood)", "HTTP/1.1 100 Continue\r\n\r\n" * 40000).encode("latin-1")); c.close(); return
    note({"line": line}); assert len(head) == len(fields), fields
    data = body(f, head)
    c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    note({"line": line, "head": head, "body": data.decode("latin-1"), "rest": f.read().decode("latin-1")})
s = socket.socket(); s.bind(("127.0.0.1", int(sys.argv[1]))); s.listen(64)
print("READY", flush=True)
while True: threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
"""


def exchange(port, text):
    """All that comes back until the server closes; it must close by itself."""
    with socket.create_connection(("127.0.0.1", port), timeout=harness.DEADLINE_S) as sock:
        sock.sendall(text.encode("latin-1"))
        return harness.drain(sock)


def statuses(answer):
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)]


def refused(what):
    text = REQUESTS[what]
    return text if isinstance(text, tuple) else (text, 400)


@pytest.fixture(scope="module")
def app(server, box):
    with server.client() as client:
        inside.start(client, box, RAW_APP % ([*RESPONSES.values(), *(row[1] for row in ENDS.values())],), PORT)
        inside.expose(client, box, PORT)
    return box


@pytest.fixture
def asked(server, app):
    """asked(): what the application was asked in this test."""
    with server.client() as client:
        client.exec(app, "rm -f /tmp/asked")
        yield lambda: [json.loads(line) for line in client.exec(app, "cat /tmp/asked 2>/dev/null || true")["stdout"].splitlines()]


@pytest.mark.parametrize("what", REQUESTS)
def test_a_request_is_refused_once(server, what):
    text, status = refused(what)
    for port, path in ((server.port, "/sandbox/sandboxes"), (server.port, "/mcp"), (server.engine_port, "/")):
        answer = exchange(port, text.format(path=path, second=SECOND))
        assert statuses(answer) == [status], (path, answer)


@pytest.mark.parametrize("what", REQUESTS)
def test_a_request_does_not_reach_an_application_twice(server, app, asked, what):
    text, status = refused(what)
    second = f"GET /sandbox/proxy/{app}/{PORT}/second HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answer = exchange(server.port, text.format(path=f"/sandbox/proxy/{app}/{PORT}/first", second=second))
    assert statuses(answer) == [status], answer
    seen = asked()
    assert not any("second" in row["line"] or "body" in row for row in seen), seen  # one whose end never came has no body


@pytest.mark.parametrize("what", BODIES)
def test_a_body_is_a_body(server, what):
    """On every kind of route, also one that answers before the body is there: what it holds is never a request."""
    body = "GET /inside-the-body HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = "GET /last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    for port, path in ((server.port, "/sandbox/health"), (server.port, "/sandbox/sandboxes"), (server.port, "/sandbox/nothing"), (server.port, "/mcp"),
                       (server.port, "/"), (server.port, "/metrics"), (server.port, "/sandbox/proxy/none/80/x"), (server.engine_port, "/")):
        answer = exchange(port, BODIES[what].format(path=path, length=len(body), hex=f"{len(body):x}", body=body) + last)
        final = [status for status in statuses(answer) if status >= 200]
        assert len(final) in (1, 2) and b"inside-the-body" not in answer, (path, answer)


@pytest.mark.parametrize("what", BODIES)
def test_a_body_reaches_an_application_as_it_is(server, app, asked, what):
    prefix = f"/sandbox/proxy/{app}/{PORT}"
    body = f"GET {prefix}/second HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = f"POST {prefix}/last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 4\r\n\r\nlast"
    answer = exchange(server.port, BODIES[what].format(path=prefix + "/first", length=len(body), hex=f"{len(body):x}", body=body) + last)
    assert [status for status in statuses(answer) if status >= 200] == [200, 200], answer
    def ended():
        rows = [row for row in asked() if "body" in row]
        return rows if len(rows) == 2 else None
    seen = sorted(harness.wait_until(ended, "both requests to end"), key=lambda row: row["line"])  # connections of their own: either may end first
    assert [(row["line"].split(" ")[1], row["body"], row["rest"]) for row in seen] == [("/first", body, ""), ("/last", "last", "")]
    head = seen[0]["head"]
    assert "upgrade" not in head and "expect" not in head and head["host"] == f"localhost:{PORT}" and head["connection"] == "close"
    assert head.get("content-length", str(len(body))) == str(len(body))


def test_a_pipeline_is_answered_in_order_and_ends_at_the_first_fault(server):
    good = {"GET /sandbox/health HTTP/1.1\r\nHost: localhost\r\n\r\n": 200, "HEAD /sandbox/health HTTP/1.1\r\nHost: localhost\r\n\r\n": 200,
            "GET /sandbox/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nGET": 404,
            "POST /sandbox/nothing HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nGET\r\n0\r\n\r\n": 404,
            "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n": None}
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    for _ in range(20):
        line = [rng.choice(list(good)) for _ in range(rng.randrange(6))]
        text, status = refused(rng.choice(list(REQUESTS)))
        sent = ("".join(line) + text.format(path="/sandbox/sandboxes", second=SECOND)).encode("latin-1")
        with socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S) as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while sent:  # cut anywhere
                size = rng.randrange(1, 40)
                sock.sendall(sent[:size])
                sent = sent[size:]
            got = statuses(harness.drain(sock))
        assert len(got) == len(line) + 1 and got[-1] == status and all(good[one] in (None, seen) for one, seen in zip(line, got)), (seed, line, text, got)


def ask_twice(server, app, number, method="GET", body=""):
    """The application's answer of that number, and behind it another request on the same connection."""
    request = f"{method} /sandbox/proxy/{app}/{PORT}/answer/{number} HTTP/1.1\r\nHost: localhost\r\n\r\n"
    if body:
        request = request[:-2] + f"Content-Length: {len(body)}\r\n\r\n{body}"
    return exchange(server.port, request + "GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")


@pytest.mark.parametrize("number", range(len(RESPONSES)), ids=list(RESPONSES))
def test_a_response_is_never_passed_on_as_complete(server, app, number):
    answer = ask_twice(server, app, number)
    assert b"X-Second" not in answer and b"hello" not in answer, answer
    is_cut = statuses(answer) in ([], [200]) and not answer.endswith(b"0\r\n\r\n")  # its head was passed on before the fault came
    assert statuses(answer) == [502, 404] or is_cut, answer


@pytest.mark.parametrize("number", range(len(ENDS)), ids=list(ENDS))
def test_a_response_ends_where_it_says(server, app, number):
    method, _, status, body = list(ENDS.values())[number]
    upload = "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n" if method == "POST" else ""
    answer = ask_twice(server, app, len(RESPONSES) + number, method, upload)
    assert statuses(answer) == [status, 404] and b"X-Second" not in answer and b"hello" not in answer, answer
    head, _, rest = answer.partition(b"\r\n\r\n")
    got = rest.partition(b"HTTP/1.1 404")[0]
    assert got == (b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if b"chunked" in head and body else body), answer


def test_an_application_cannot_be_asked_for_http2(server, app, asked):
    """The wish for h2c ends here; what the client sends then is another request, not a stream."""
    prefix = f"/sandbox/proxy/{app}/{PORT}"
    answer = exchange(server.port, f"GET {prefix}/first HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                      "HTTP2-Settings: AAMAAABk\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    assert statuses(answer)[0] == 200, answer
    assert all("upgrade" not in row.get("head", {}) and "http2-settings" not in row.get("head", {}) for row in asked())
