"""Makes the list of everything that is in the binary (CycloneDX, JSON) the same wherever it is built.

maturin puts the list into the wheel, with a serial number that is drawn, a time and the folder of the sources. The
list in an unpacked wheel is changed, and a copy of it written.

    sbom.py WHEEL_FOLDER SOURCES COPY
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

# As `RUSTFLAGS` of packaging/build replaces the folder in the binary.
NAME_OF_SOURCES = "/parabench"


def main(wheel: Path, sources: str, copy: Path) -> None:
    found = sorted(wheel.glob("*.dist-info/sboms/*.json"))
    if len(found) != 1:
        sys.exit(f"sbom: expected one list in {wheel}, found {len(found)}")
    bill = json.loads(found[0].read_text().replace(f"{sources}/", f"{NAME_OF_SOURCES}/"))
    bill.pop("serialNumber", None)
    bill.get("metadata", {}).pop("timestamp", None)
    bill["components"].sort(key=lambda component: (component["name"], component.get("version", "")))
    for file in (found[0], copy):
        file.write_text(json.dumps(bill, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
