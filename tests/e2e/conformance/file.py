"""Small files that are real ones of their kind."""

from __future__ import annotations

import io
import zipfile

_OFFICE = "http://schemas.openxmlformats.org"
_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def pdf(text: str, *, pages: int = 1, title: str = "The Title") -> bytes:
    """A PDF that says `text` on each of its pages."""
    kids = " ".join(f"{5 + 2 * number} 0 R" for number in range(pages))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({title}) >>",
    ]
    stream = f"BT /F1 12 Tf 1 0 0 1 50 700 Tm ({text}) Tj ET"
    for number in range(pages):
        objects += [
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {6 + 2 * number} 0 R >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    out = "%PDF-1.7\n"
    places = []
    for number, content in enumerate(objects, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    out += f"xref\n0 {size}\n0000000000 65535 f \n{table}"
    start = out.index("xref\n0")
    return (out + f"trailer << /Size {size} /Root 1 0 R /Info 4 0 R >>\nstartxref\n{start}\n%%EOF").encode()


def docx(text: str) -> bytes:
    """A Word document of one paragraph."""
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_OFFICE}/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{_WORD}.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{_OFFICE}/package/2006/relationships"><Relationship Id="r1" '
        f'Type="{_OFFICE}/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>'
        "</Relationships>",
        "word/document.xml": f'<w:document xmlns:w="{_OFFICE}/wordprocessingml/2006/main"><w:body><w:p><w:r>'
        f"<w:t>{text}</w:t></w:r></w:p></w:body></w:document>",
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()
