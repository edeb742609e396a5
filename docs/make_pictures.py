"""Make the pictures of README and docs from the sections of the gallery: `make pictures`, or

python -m docs.make_pictures
"""

import tempfile
from pathlib import Path

from docs import summation_pictures
from gallery.drawing import look
from gallery.sections import additive, classification, fields, operators, smoothing

IMAGES = Path(__file__).parent / "images"
PICTURES = {
    smoothing.section: ["smoothing.png"],
    additive.section: ["additive.png"],
    fields.section: ["fields.png"],
    classification.section: ["classes.png"],
    summation_pictures.section: ["summation-boxes.png", "summation-ways.png", "summation-errors.png"],
    operators.section: ["spectra.png", "designed-operator.png", "matched-spectrum.png"],
}

if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for section, names in PICTURES.items():
        with tempfile.TemporaryDirectory() as folder, look():
            section(Path(folder))
            for name in names:
                (IMAGES / name).write_bytes((Path(folder) / name).read_bytes())
                print(f"docs/images/{name}")
