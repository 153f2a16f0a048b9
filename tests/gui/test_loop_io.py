"""Sockets, HTTP, processes, threads and signals on our loop."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import aiohttp
import pytest
from aiohttp import web


def test_http_round_trips(runner):
    async def main() -> None:
        async def answer(request: web.Request) -> web.Response:
            return web.json_response({"got": (await request.json())["n"]})

        app = web.Application()
        app.router.add_post("/", answer)
        server = web.AppRunner(app)
        await server.setup()
        site = web.TCPSite(server, "127.0.0.1", 0)
        await site.start()
        port = server.addresses[0][1]
        async with aiohttp.ClientSession() as session:

            async def ask(n: int) -> int:
                async with session.post(f"http://127.0.0.1:{port}/", json={"n": n}) as response:
                    return (await response.json())["got"]

            answers = await asyncio.gather(*(ask(n) for n in range(200)))
        await server.cleanup()
        assert answers == list(range(200))

    runner.run(main())


def test_streams_with_more_data_than_any_buffer(runner):
    payload = os.urandom(5_000_000)

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())

        async def send() -> None:
            writer.write(payload)
            await writer.drain()
            writer.write_eof()

        async with asyncio.TaskGroup() as group:
            group.create_task(send())
            received = group.create_task(reader.read())
        assert received.result() == payload
        writer.close()
        await writer.wait_closed()
        server.close()
        await server.wait_closed()

    runner.run(main())


def test_readers_and_writers_can_be_replaced_and_removed(runner):
    async def main() -> None:
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.setblocking(False)
        seen: list[str] = []
        got = asyncio.Event()

        def read(label: str) -> None:
            seen.append(f"{label} {ours.recv(10).decode()}")
            got.set()

        loop.add_reader(ours, read, "first")
        loop.add_reader(ours, read, "second")
        await loop.sock_sendall(theirs, b"a")
        await got.wait()
        assert loop.remove_reader(ours)
        assert not loop.remove_reader(ours)

        writable = asyncio.Event()
        loop.add_writer(ours, writable.set)
        await writable.wait()
        assert loop.remove_writer(ours)
        assert not loop.remove_writer(ours)

        await loop.sock_sendall(theirs, b"b")
        await asyncio.sleep(0.01)
        assert seen == ["second a"]
        assert await loop.sock_recv(ours, 10) == b"b"
        ours.close()
        theirs.close()

    runner.run(main())


def test_a_failing_reader_is_reported_and_others_go_on(runner):
    async def main() -> list[str]:
        loop = asyncio.get_running_loop()
        reported: list[str] = []
        failed = asyncio.Event()

        def report(_loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
            reported.append(repr(context["exception"]))
            failed.set()

        loop.set_exception_handler(report)
        ours, theirs = socket.socketpair()

        def read() -> None:
            ours.recv(1)
            raise ValueError("unreadable")

        loop.add_reader(ours, read)
        theirs.send(b"x")
        await failed.wait()
        await asyncio.sleep(0.01)
        loop.remove_reader(ours)
        ours.close()
        theirs.close()
        return reported

    assert runner.run(main()) == ["ValueError('unreadable')"]


def test_processes_talk_and_end(runner):
    program = "import sys; text = sys.stdin.read(); print(text[::-1], end=''); sys.exit(7)"

    async def one(n: int) -> tuple[bytes, int | None]:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-S",
            "-c",
            program,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await process.communicate(f"abc{n}".encode())
        return out, process.returncode

    async def main() -> list[tuple[bytes, int | None]]:
        return await asyncio.gather(*(one(n) for n in range(4)))

    assert runner.run(main()) == [(f"{n}cba".encode(), 7) for n in range(4)]


def test_a_process_can_be_terminated(runner):
    async def main() -> int:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-c", "print(1, flush=True); import time; time.sleep(60)",
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        await process.stdout.readline()
        process.terminate()
        return await process.wait()

    assert runner.run(main()) == -signal.SIGTERM


def test_work_runs_in_plain_threads(runner):
    async def main() -> None:
        loop = asyncio.get_running_loop()
        names = await asyncio.gather(
            *(asyncio.to_thread(lambda: threading.current_thread().name) for _ in range(20))
        )
        assert all(name.startswith("asyncio_") for name in names)
        assert isinstance(loop._default_executor, ThreadPoolExecutor)
        with pytest.raises(ZeroDivisionError):
            await loop.run_in_executor(None, lambda: 1 / 0)

    runner.run(main())


def test_calls_from_threads_all_arrive_in_order(runner):
    threads, each = 4, 500

    async def main() -> None:
        loop = asyncio.get_running_loop()
        arrived: list[tuple[int, int]] = []
        done = asyncio.Event()
        ours = threading.get_ident()

        def arrive(thread: int, n: int) -> None:
            assert threading.get_ident() == ours
            arrived.append((thread, n))
            if len(arrived) == threads * each:
                done.set()

        def call(thread: int) -> None:
            for n in range(each):
                loop.call_soon_threadsafe(arrive, thread, n)

        workers = [threading.Thread(target=call, args=(thread,)) for thread in range(threads)]
        for worker in workers:
            worker.start()
        async with asyncio.timeout(20):
            await done.wait()
        for worker in workers:
            worker.join()
        for thread in range(threads):
            assert [n for other, n in arrived if other == thread] == list(range(each))

    runner.run(main())


def test_one_call_from_a_thread_wakes_an_idle_loop(runner):
    async def main() -> float:
        loop = asyncio.get_running_loop()
        latencies = []
        for _ in range(20):
            called = loop.create_future()
            idle = threading.Timer(
                0.005, lambda called=called: loop.call_soon_threadsafe(called.set_result, loop.time())
            )
            idle.start()
            sent = await called
            latencies.append(loop.time() - sent)
            idle.join()
        return sorted(latencies)[10]

    assert runner.run(main()) < 0.02


def test_signal_handlers_run_as_callbacks(runner):
    async def main() -> None:
        loop = asyncio.get_running_loop()
        got: asyncio.Queue[str] = asyncio.Queue()
        loop.add_signal_handler(signal.SIGUSR1, got.put_nowait, "usr1")
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGUSR1)
            async with asyncio.timeout(5):
                assert await got.get() == "usr1"
        # From a thread while Qt waits: nothing but the signal itself can wake the loop.
        sender = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1))
        sender.start()
        async with asyncio.timeout(5):
            assert await got.get() == "usr1"
        sender.join()
        assert loop.remove_signal_handler(signal.SIGUSR1)

    runner.run(main())
    assert signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL
