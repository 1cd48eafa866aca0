"""Writes the list of everything that is in the binary (CycloneDX, JSON) beside the packages.

maturin puts one into the wheel. Its serial number is drawn and its time is now: both are replaced, so that the same
sources give the same bytes.

    sbom.py WHEEL_FOLDER OUTPUT
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(wheel: Path, output: Path) -> None:
    found = sorted(wheel.glob("*.dist-info/sboms/*.json"))
    if len(found) != 1:
        sys.exit(f"sbom: expected one list in {wheel}, found {len(found)}")
    bill = json.loads(found[0].read_text())
    bill.pop("serialNumber", None)
    bill.get("metadata", {}).pop("timestamp", None)
    bill["components"].sort(key=lambda component: (component["name"], component.get("version", "")))
    output.write_text(json.dumps(bill, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
