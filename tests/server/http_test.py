"""HTTP itself, over bare sockets: what broken and hostile clients send."""
import http.client
import socket

from serve import Case, Server, main, read_all

HEAD = b"POST /v1/images/generations HTTP/1.1\r\nHost: localhost\r\n"


class Http(Case):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--header-time", "0.3", "--body-time", "0.3", "--idle-time", "0.3")
        cls.server.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def status_of(self, data, **options):
        answer = self.server.raw(data, **options)
        return int(answer.split(b" ")[1]) if answer else None

    def tearDown(self):  # whatever came before, the next client is served
        self.assertEqual(self.server.call("GET", "/health")[0], 200)

    def test_a_length_that_lies(self):
        self.assertEqual(self.status_of(HEAD + b"Content-Length: 100\r\n\r\n{}"), 408)
        self.assertEqual(self.status_of(HEAD + b"Content-Length: 99999999999\r\n\r\n{}"), 413)
        self.assertEqual(self.status_of(HEAD + b"Content-Length: -1\r\n\r\n{}"), 400)
        self.assertEqual(self.status_of(HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"), 400)
        self.assertEqual(self.status_of(HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400)

    def test_chunks_without_end(self):
        endless = HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"8000\r\n" + b" " * 0x8000 + b"\r\n"
        self.assertEqual(self.status_of(endless), 408)
        self.assertEqual(self.status_of(endless + (b"8000\r\n" + b" " * 0x8000 + b"\r\n") * 64), 413)
        self.assertEqual(self.status_of(HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"), 413)
        self.assertEqual(self.status_of(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * 300000), 431)
        self.assertEqual(self.status_of(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"), 400)

    def test_a_large_body(self):
        self.assertEqual(self.status_of(HEAD + b"Content-Length: 2000000\r\n\r\n" + b" " * 2000000), 413)
        self.assertEqual(self.status_of(HEAD + b"Content-Length: 2000000\r\nExpect: 100-continue\r\n\r\n"), 413)

    def test_a_gigabyte_stays_outside(self):
        part = b"8000\r\n" + b" " * 0x8000 + b"\r\n"
        with Server(measured=True) as server:
            server.call("GET", "/health")
            before = server.resident()
            for head in (b"Content-Length: 1073741824\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"):
                for path in (b"/v1/images/generations", b"/v1/images/edits", b"/sdapi/v1/img2img"):
                    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
                        connection.sendall(b"POST " + path + b" HTTP/1.1\r\nHost: localhost\r\n" + head)
                        sent = 0
                        try:
                            while sent < 1 << 30:
                                connection.sendall(part)
                                sent += len(part)
                        except OSError:
                            pass  # it has heard enough
                        self.assertLess(sent, 64 << 20)
                        self.assertEqual(server.call("GET", "/health")[0], 200)
            self.assertLess(server.resident() - before, 48 << 20)

    def test_expect_continue(self):
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=60) as connection:
            connection.sendall(HEAD + b"Connection: close\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
            self.assertTrue(connection.recv(100).startswith(b"HTTP/1.1 100 "))
            connection.sendall(b"{}")
            self.assertIn(b"400 Bad Request", read_all(connection))

    def test_slow_clients_lose(self):
        self.assertEqual(self.status_of(b"GET / HT"), 408)
        self.assertEqual(self.status_of(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A"), 408)
        self.assertIsNone(self.status_of(b""))

    def test_slow_clients_do_not_stop_others(self):
        slow = [socket.create_connection(("127.0.0.1", self.server.port)) for _ in range(40)]
        for connection in slow:
            connection.sendall(b"GET / HTTP/1.1\r\n")
        self.assertEqual(self.server.call("GET", "/health")[0], 200)
        for connection in slow:
            connection.close()

    def test_header_floods(self):
        flood = b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"".join(b"X-%d: y\r\n" % i for i in range(20000)) + b"\r\n"
        self.assertEqual(self.status_of(flood), 431)
        self.assertEqual(self.status_of(b"GET /" + b"a" * 300000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"), 431)
        self.assertEqual(self.status_of(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 300000), 431)

    def test_what_is_not_http(self):
        for data in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"hello\r\n\r\n", b"\0" * 100 + b"\r\n\r\n",
                     b"GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"GET /%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"):
            self.assertEqual(self.status_of(data), 400, data)

    def test_hosts_that_are_not_ours(self):
        for host in (b"evil.example", b"evil.example:7860", b"localhost.evil.example", b"127.0.0.1.evil.example"):
            self.assertEqual(self.status_of(b"GET / HTTP/1.1\r\nHost: " + host + b"\r\n\r\n"), 421)
        for host in (b"localhost", b"LOCALHOST:1", b"127.0.0.1:7860", b"[::1]:7860"):
            self.assertEqual(self.status_of(b"GET / HTTP/1.1\r\nConnection: close\r\nHost: " + host + b"\r\n\r\n"), 200)

    def test_origins(self):
        self.refused(self.server, "POST", "/api/v1/jobs", {"prompt": "x"}, 403, headers={"Origin": "https://evil.example"})
        self.assertEqual(self.server.call("GET", "/health", headers={"Origin": f"http://127.0.0.1:{self.server.port}"})[0], 200)
        with Server("--allow-origin", "https://good.example") as server:
            status, headers, _ = server.call("OPTIONS", "/api/v1/jobs", headers={"Origin": "https://good.example"})
            self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (204, "https://good.example"))
            self.assertEqual(server.call("OPTIONS", "/api/v1/jobs", headers={"Origin": "null"})[0], 403)

    def test_several_requests_on_one_connection(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        for _ in range(3):
            connection.request("GET", "/health")
            self.assertEqual(connection.getresponse().read()[:1], b"{")
        connection.close()
        two = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2
        self.assertEqual(self.server.raw(two).count(b"200 OK"), 2)
        self.assertIn(b"200 OK", self.server.raw(b"GET /health HTTP/1.0\r\n\r\n"))
        status, headers, body = self.server.call("HEAD", "/health")
        self.assertEqual((status, body), (200, b""))
        self.assertGreater(int(headers["Content-Length"]), 0)

    def test_paths_that_lead_nowhere(self):
        for path in ("/etc/passwd", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/api/v1/jobs/../../etc/passwd",
                     "/api/v1/jobs/%2e%2e%2f%2e%2e%2fetc%2fpasswd/pictures/0", "/api/v1/jobs/.lock/pictures/0",
                     "/api/v1/jobs/x/pictures/-1", "/api/v1/jobs/x/pictures/99999999999999999999", "/api/v1/jobs/.."):
            self.assertEqual(self.server.call("GET", path)[0], 404, path)
        status, _, answer = self.server.call("DELETE", "/health")
        self.assertEqual(status, 405)
        self.assertIn("GET", answer["error"]["message"])

    def test_too_many_connections(self):
        with Server("--max-connections", "20") as server:
            held = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(30)]
            for connection in held[20:]:
                self.assertIn(b" 503 ", read_all(connection))
            for connection in held:
                connection.close()
            while server.call("GET", "/health")[0] != 200:  # until the server has seen that they left
                pass


if __name__ == "__main__":
    main()
