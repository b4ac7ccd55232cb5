"""Repair of a journal that is damaged: the edits before the damage are kept, and what is lost is said."""

import json
from contextlib import suppress
from pathlib import Path

from safetensors import SafetensorError

from nearspan.document import count_of
from nearspan.errors import EditError, ModelError
from nearspan.io.atomic import copy_permissions, replace_file
from nearspan.io.memory_files import (
    DAMAGED,
    JOURNAL,
    MANIFEST,
    SENTENCES,
    Journal,
    Manifest,
    base_of,
    intact_lines,
    write_journal,
)
from nearspan.io.paths import open_regular
from nearspan.memory.lock import lock_memory


def repair_journal(folder: Path | str, lose_edits: bool = False) -> list[str]:
    """What is damaged in the journal of a folder's memory and what can be kept, line by line for people to read.

    Only where they `lose_edits` anything is changed: the journal then holds the edits up to the first that is damaged,
    and all that it held lies beside it.

        repair_journal("runs/mine")
    """
    folder = Path(folder)
    with lock_memory(folder):
        try:
            base = base_of(folder)
        except (ModelError, OSError, SafetensorError, KeyError, ValueError) as error:
            raise EditError(
                f"the memory in {folder} is damaged beside its journal, or there is none: {error}"
            ) from error
        damage = f"{JOURNAL} and {MANIFEST} are of another memory"
        try:
            journal = Journal.read(folder)
            if base == journal.manifest.base:
                edits = count_of(len(journal.lines), "edit", "edits")
                return [f"the journal is whole, with {edits}: there is nothing to repair"]
        except ModelError as error:
            damage = str(error).split(". ")[0]
        content, known = b"", None
        with suppress(OSError, ModelError), open_regular(folder / JOURNAL) as file:
            content = file.read()
        with suppress(OSError, ModelError):
            known = Manifest.read(folder / MANIFEST).edits
        lines, _ = intact_lines(content, base)
        kept, rest = len(lines), content[sum(len(line) + 1 for line in lines) :]
        lost = [_summary(line) for line in rest.split(b"\n") if line.strip(b"\0")]
        lost += ["nothing of it is left"] * ((known or 0) - kept - len(lost))
        report = [damage, f"{count_of(kept, 'edit', 'edits')} can be kept"]
        report += [f"lost: edit {number}: {summary}" for number, summary in enumerate(lost, start=kept + 1)]
        if known is None:
            report.append(f"{MANIFEST} cannot be read, so there may have been more edits")
        if lost or known is None:
            report.append("what lost edits had removed or forgotten is in the memory again: remove or forget it anew")
        if not lose_edits:
            return [*report, f"nothing is changed yet; to go on: nearspan memory {folder} repair --lose-edits"]
        aside = folder / DAMAGED
        if aside.exists():
            raise EditError(f"{aside} is there from an earlier repair: move it away first")
        replace_file(aside, [content])
        copy_permissions(aside, folder / SENTENCES)
        write_journal(folder, lines, built=True)
        return [*report, f"the journal holds {count_of(kept, 'edit', 'edits')} now; what it held is in {aside}"]


def _summary(line: bytes) -> str:
    """What a line that is lost says of itself."""
    try:
        return str(json.loads(line)["summary"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return "not legible"
