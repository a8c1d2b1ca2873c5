"""`atds.inspect` and the command."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import atds


def test_schemas(numbers: str) -> None:
    schema = atds.read_schema(numbers)
    assert schema["fields"] == [{"name": "n", "type": "long"}]
    assert schema == atds.Dataset(numbers, 8).schema


def test_inspection(samples: Path) -> None:
    file = samples / "clicks" / "part-00000.avro"
    found = atds.inspect(file, sample=10)
    assert (found.path, found.codec, found.records) == (str(file), "deflate", 100)
    assert found.file_bytes == file.stat().st_size > found.raw_bytes > 0
    assert found.decompressed_bytes / found.raw_bytes == found.compression_ratio > 1
    assert found.blocks > 1
    assert found.schema["name"] == "ads"
    assert found.metadata["atds.preset"] == b"ads"
    assert found.features["d0"] == atds.DenseFeature([8], "float32")
    assert isinstance(found.features["sp0"], atds.SparseFeature)
    assert (found.left_out, found.paths_truncated, found.sampled) == ({}, False, 10)
    assert found.paths[0] == atds.InspectedPath("s_label", "int", False, 10, 0)
    # The features of the inspection read the file.
    (batch, *_) = atds.Dataset(file, 64, found.features)
    assert batch["d0"].shape == (64, 8)
    strings = atds.inspect(samples / "strings" / "part-00000.avro")
    assert strings.features["d_keys"] == atds.DenseFeature([2, 2], "bytes")
    with pytest.raises(atds.OptionError, match="sample must be a whole number, 0 or more"):
        atds.inspect(file, sample=-1)


def command(*args: str, **options: Any) -> subprocess.CompletedProcess[str]:
    script = Path(sysconfig.get_path("scripts")) / "atds"
    return subprocess.run([script, *args], capture_output=True, text=True, check=False, **options)


def test_the_command(samples: Path) -> None:
    file = str(samples / "clicks" / "part-00000.avro")
    done = command("inspect", file, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)
    assert command("--version").stdout == f"atds {atds.__version__}\n"
    missing = command("inspect", "missing.avro")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr == "atds: error: missing.avro: No such file or directory (os error 2)\n"
    assert command("inspect").returncode == 2
    assert command("nothing").returncode == 2
    module = [sys.executable, "-m", "atds", "inspect", "missing.avro"]
    assert subprocess.run(module, capture_output=True, check=False).returncode == 1


def comm(task: Path) -> str:
    """The name of a thread; empty if it has ended."""
    try:
        return (task / "comm").read_text()
    except OSError:
        return ""


def test_ctrl_c_ends_the_command(samples: Path) -> None:
    script = Path(sysconfig.get_path("scripts")) / "atds"
    args = [str(script), "bench", str(samples / "many"), "--epochs", "100000000"]
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        # Once the process has another thread, its threads read headers.
        tasks = Path(f"/proc/{process.pid}/task")
        try:
            while not any(comm(task).startswith("atds-") for task in tasks.iterdir()):
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
            figures, _ = process.communicate(timeout=60)
            # While headers are checked, the signal itself ends the process.
            if process.returncode != -signal.SIGINT:
                assert process.returncode == 128 + signal.SIGINT
                assert b"stopped" in figures
        finally:
            process.kill()
