"""3MF: round trips, hand-written archives, damaged ones, and lib3mf and trimesh as oracles."""

import struct
import zipfile

import numpy as np
import pytest

from seminorm.files import FileFormatError, describe, read_mesh, read_points, write_mesh
from seminorm.shapes import Mesh, Sphere

FAR = np.array([431234.567, 5412345.678, 812.3])
CORNER = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
CORNER_FACES = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
CORE = "http://schemas.microsoft.com/3dmanufacturing/core/2015/02"
MATERIAL = "http://schemas.microsoft.com/3dmanufacturing/material/2015/02"
PRODUCTION = "http://schemas.microsoft.com/3dmanufacturing/production/2015/06"
RELATION = "http://schemas.microsoft.com/3dmanufacturing/2013/01/3dmodel"


@pytest.fixture
def ball(rng):
    mesh = Sphere([0, 0, 0], 1).mesh(0.25)
    colors = rng.integers(0, 256, mesh.vertices.shape) // 64 * 64 / 255
    return Mesh(mesh.vertices, mesh.faces, mesh.normals, {"colors": colors})


def test_a_round_trip_keeps_coordinates_faces_and_colors(ball, tmp_path):
    far = Mesh(ball.vertices + FAR, ball.faces, ball.normals, ball.attributes)
    found = read_mesh(far.save(tmp_path / "a.3mf"))
    np.testing.assert_array_equal(found.vertices, far.vertices)
    np.testing.assert_array_equal(found.faces, far.faces)
    np.testing.assert_array_equal(found.attributes["colors"], ball.attributes["colors"])
    assert found.is_watertight and found.normals is None
    plain = read_mesh(write_mesh(tmp_path / "A.3MF", Mesh(ball.vertices, ball.faces)))
    assert not plain.attributes
    np.testing.assert_array_equal(read_points(tmp_path / "a.3mf").colors, ball.attributes["colors"])
    assert describe(tmp_path / "a.3mf")["faces"] == len(ball.faces)


def test_single_precision_is_smaller(ball, tmp_path):
    small, large = write_mesh(tmp_path / "s.3mf", ball, single=True), write_mesh(tmp_path / "d.3mf", ball)
    assert small.stat().st_size < large.stat().st_size
    np.testing.assert_array_equal(read_mesh(small).vertices.astype(np.float32), ball.vertices.astype(np.float32))


def test_equal_meshes_are_equal_files(ball, tmp_path, monkeypatch):
    first = ball.save(tmp_path / "a.3mf").read_bytes()
    monkeypatch.setattr("time.time", lambda: 2e9)
    assert ball.save(tmp_path / "b.3mf").read_bytes() == first
    with zipfile.ZipFile(tmp_path / "a.3mf") as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["[Content_Types].xml", "_rels/.rels", "3D/3dmodel.model"]
        text = archive.read("3D/3dmodel.model").decode()
    assert 'unit="millimeter"' in text
    assert text.count("<m:color ") == len(np.unique(ball.attributes["colors"], axis=0))


def test_meshes_that_the_format_cannot_hold(tmp_path):
    twice = Mesh(CORNER, [*CORNER_FACES, [0, 0, 1]])
    assert read_mesh(twice.save(tmp_path / "a.3mf")).faces.tolist() == CORNER_FACES
    with pytest.raises(ValueError, match=r"a\.3mf: a 3MF file needs at least one face"):
        Mesh(CORNER, [[0, 0, 1]]).save(tmp_path / "a.3mf")
    with pytest.raises(ValueError, match="holds no NaN"):
        Mesh(CORNER * [1, 1, np.nan], CORNER_FACES).save(tmp_path / "a.3mf")
    assert read_mesh(tmp_path / "a.3mf").faces.tolist() == CORNER_FACES  # the old file is still there


# ---- other programs


def test_lib3mf_reads_what_we_write(ball, tmp_path):
    lib3mf = pytest.importorskip("lib3mf")
    model = lib3mf.get_wrapper().CreateModel()
    reader = model.QueryReader("3mf")
    reader.SetStrictModeActive(True)
    reader.ReadFromFile(str(ball.save(tmp_path / "a.3mf")))
    assert reader.GetWarningCount() == 0
    meshes, groups = model.GetMeshObjects(), model.GetColorGroups()
    assert meshes.MoveNext() and groups.MoveNext()
    mesh, group = meshes.GetCurrentMeshObject(), groups.GetCurrentColorGroup()
    assert mesh.IsManifoldAndOriented()
    np.testing.assert_allclose([vertex.Coordinates[:] for vertex in mesh.GetVertices()], ball.vertices, atol=1e-6)
    np.testing.assert_array_equal([face.Indices[:] for face in mesh.GetTriangleIndices()], ball.faces)
    colors = {n: (c.Red, c.Green, c.Blue) for n in group.GetAllPropertyIDs() for c in [group.GetColor(n)]}
    corners = [[colors[n] for n in face.PropertyIDs] for face in mesh.GetAllTriangleProperties()]
    np.testing.assert_array_equal(corners, np.rint(ball.attributes["colors"] * 255)[ball.faces])


def test_we_read_what_lib3mf_writes(tmp_path):
    lib3mf = pytest.importorskip("lib3mf")
    wrapper = lib3mf.get_wrapper()
    model = wrapper.CreateModel()
    mesh = model.AddMeshObject()
    for row in CORNER:
        mesh.AddVertex(lib3mf.Position(tuple(row)))
    for face in CORNER_FACES:
        mesh.AddTriangle(lib3mf.Triangle(tuple(face)))
    group = model.AddColorGroup()
    red, green = (group.AddColor(wrapper.RGBAToColor(*color)) for color in ((255, 0, 0, 255), (0, 255, 0, 255)))
    for k in range(len(CORNER_FACES)):
        ids = tuple(red if vertex < 2 else green for vertex in CORNER_FACES[k])
        mesh.SetTriangleProperties(k, lib3mf.TriangleProperties(group.GetResourceID(), ids))
    mesh.SetObjectLevelProperty(group.GetResourceID(), red)
    pair = model.AddComponentsObject()
    pair.AddComponent(mesh, wrapper.GetIdentityTransform())
    pair.AddComponent(mesh, wrapper.GetTranslationTransform(5.0, 0.0, 0.0))
    model.AddBuildItem(pair, wrapper.GetUniformScaleTransform(2.0))
    model.AddBuildItem(mesh, wrapper.GetTranslationTransform(0.0, 0.0, -3.0))
    model.QueryWriter("3mf").WriteToFile(str(tmp_path / "a.3mf"))
    found = read_mesh(tmp_path / "a.3mf")
    wanted = np.vstack([2 * CORNER, 2 * (CORNER + [5, 0, 0]), CORNER - [0, 0, 3]])
    np.testing.assert_allclose(found.vertices, wanted, atol=1e-6)
    assert found.is_watertight and found.components()[1] == 3
    colors = [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]]
    np.testing.assert_array_equal(found.attributes["colors"], colors * 3)


def test_trimesh_reads_and_writes_the_same(ball, tmp_path):
    trimesh = pytest.importorskip("trimesh")
    pytest.importorskip("lxml")
    pytest.importorskip("networkx")
    other = trimesh.load(ball.save(tmp_path / "a.3mf"), force="mesh", process=False)
    np.testing.assert_allclose(other.triangles, ball.vertices[ball.faces], atol=1e-12)
    other.export(tmp_path / "b.3mf")
    found = read_mesh(tmp_path / "b.3mf")
    np.testing.assert_allclose(found.vertices[found.faces], ball.vertices[ball.faces], atol=1e-6)


# ---- hand-written archives


def model(resources, build, **spaces):
    extra = "".join(f' xmlns:{name}="{space}"' for name, space in spaces.items())
    return f'<model unit="inch" xmlns="{CORE}"{extra}><resources>{resources}</resources><build>{build}</build></model>'


def solid(number, more="", face=""):
    vertices = "".join(f'<vertex x="{x:g}" y="{y:g}" z="{z:g}"/>' for x, y, z in CORNER)
    faces = "".join(f'<triangle v1="{a}" v2="{b}" v3="{c}" {face}/>' for a, b, c in CORNER_FACES)
    mesh = f"<mesh><vertices>{vertices}</vertices><triangles>{faces}</triangles></mesh>"
    return f'<object id="{number}" type="model" {more}>{mesh}</object>'


def archive(tmp_path, parts, relations=None):
    path = tmp_path / "a.3mf"
    with zipfile.ZipFile(path, "w") as file:
        for name, text in parts.items():
            file.writestr(name, text)
        if relations is not None:
            space = "http://schemas.openxmlformats.org/package/2006/relationships"
            file.writestr("_rels/.rels", f'<Relationships xmlns="{space}">{relations}</Relationships>')
    return path


def one_part(tmp_path, *arguments, **spaces):
    return archive(tmp_path, {"3D/3dmodel.model": model(*arguments, **spaces)})


def test_mirror_images_look_outwards(tmp_path):
    item = '<item objectid="1" transform="-1 0 0 0 1 0 0 0 1 0 0 4"/>'
    found = read_mesh(one_part(tmp_path, solid(1), item))
    np.testing.assert_array_equal(found.vertices, CORNER * [-1, 1, 1] + [0, 0, 4])
    assert found.volume == pytest.approx(1 / 6)


def test_transformations_of_components_follow_each_other(tmp_path):
    """Rows are multiplied from the left: a component turns x to y, and its object shifts what comes out along y."""
    turned = '<component objectid="1" transform="0 1 0 -1 0 0 0 0 1 0 0 0"/>'
    shifted = '<component objectid="2" transform="1 0 0 0 1 0 0 0 1 0 7 0"/>'
    objects = f'<object id="2"><components>{turned}</components></object>'
    objects += f'<object id="3"><components>{shifted}</components></object>'
    found = read_mesh(one_part(tmp_path, solid(1) + objects, '<item objectid="3"/>'))
    np.testing.assert_array_equal(found.vertices, CORNER[:, [1, 0, 2]] * [-1, 1, 1] + [0, 7, 0])


def test_objects_outside_the_build_are_left_out(tmp_path):
    assert len(read_mesh(one_part(tmp_path, solid(1) + solid(2), '<item objectid="2"/>')).vertices) == 4
    with pytest.raises(FileFormatError, match=r"a\.3mf has no vertices: there is no mesh in its build"):
        read_points(one_part(tmp_path, solid(1), ""))


def test_parts_elsewhere_in_the_archive(tmp_path):
    """As slicers write them: the model's own name, and objects in other parts (production extension)."""
    away = '<object id="8"><components><component p:path="/3D/Objects/one.model" objectid="1"/></components></object>'
    parts = {
        "3D/main.model": model(away, '<item objectid="8"/>', p=PRODUCTION),
        "3D/objects/one.model": model(solid(1), ""),
    }
    relations = f'<Relationship Id="r" Target="/3D/main.model" Type="{RELATION}"/>'
    np.testing.assert_array_equal(read_mesh(archive(tmp_path, parts, relations)).vertices, CORNER)
    with pytest.raises(FileFormatError, match=r"there is no part /3D/Objects/one\.model"):
        read_mesh(archive(tmp_path, {"3D/main.model": parts["3D/main.model"]}, relations))


def test_colors_of_objects_faces_and_materials(tmp_path):
    group = '<m:colorgroup id="5"><m:color color="#FF0033"/><m:color color="#000000FF"/></m:colorgroup>'
    base = '<basematerials id="6"><base name="a" displaycolor="#00FF00"/></basematerials>'
    for more, face, color in (
        ('pid="5" pindex="0"', "", [1, 0, 0.2]),
        ("", 'pid="5" p1="0"', [1, 0, 0.2]),
        ('pid="5" pindex="1"', 'p1="0"', [1, 0, 0.2]),
        ('pid="6" pindex="0"', 'pid="5" p1="1"', [0, 0, 0]),
        ('pid="6" pindex="0"', "", [0, 1, 0]),
        ("", 'pid="77" p1="0"', None),
    ):
        found = read_mesh(one_part(tmp_path, group + base + solid(1, more, face), '<item objectid="1"/>', m=MATERIAL))
        assert ("colors" in found.attributes) == (color is not None)
        if color is not None:
            np.testing.assert_allclose(found.attributes["colors"], np.tile(color, (4, 1)))
    both = group + solid(1, 'pid="5" pindex="1"') + solid(2)
    found = read_mesh(one_part(tmp_path, both, '<item objectid="1"/><item objectid="2"/>', m=MATERIAL))
    np.testing.assert_array_equal(found.attributes["colors"], [[0, 0, 0]] * 4 + [[1, 1, 1]] * 4)


@pytest.mark.parametrize(
    ("resources", "build", "message"),
    [
        (solid(1), '<item objectid="3"/>', "there is no object 3"),
        (solid(1).replace('v1="0"', 'v1="9"'), '<item objectid="1"/>', "refers to vertex 9, and there are 4"),
        (solid(1).replace('v1="0"', 'w="0"'), '<item objectid="1"/>', "an element lacks the attribute 'v1'"),
        (solid(1).replace('x="0"', 'x="zero"'), '<item objectid="1"/>', "could not convert"),
        (solid(1), '<item objectid="1" transform="1 0 0"/>', "has 3 numbers where 12 are due"),
        (
            '<object id="1"><components><component objectid="1"/></components></object>',
            '<item objectid="1"/>',
            "object 1 is a component of itself",
        ),
        (solid(1).removesuffix("</object>"), '<item objectid="1"/>', "mismatched tag"),
        (
            '<basematerials id="6"><base displaycolor="#00FF00"/></basematerials>' + solid(1, 'pid="6" pindex="1"'),
            '<item objectid="1"/>',
            "more than the 1 colours of group 6",
        ),
    ],
)
def test_damaged_models_are_explained(resources, build, message, tmp_path):
    with pytest.raises(FileFormatError, match=rf"a\.3mf is damaged: .*{message}"):
        read_mesh(one_part(tmp_path, resources, build))


def test_damaged_archives_are_explained(ball, tmp_path):
    data = ball.save(tmp_path / "whole.3mf").read_bytes()
    (tmp_path / "cut.3mf").write_bytes(data[: len(data) // 2])
    with pytest.raises(FileFormatError, match=r"cut\.3mf is not a whole 3MF file: it looks like a zip archive"):
        read_mesh(tmp_path / "cut.3mf")
    with pytest.raises(FileFormatError, match=r"not a 3MF file: the zip archive has no part 3D/3dmodel\.model"):
        read_mesh(archive(tmp_path, {"points.npy": "x"}))
    with zipfile.ZipFile(tmp_path / "whole.3mf") as file:
        start = file.getinfo("3D/3dmodel.model").header_offset
    name_length, extra_length = struct.unpack_from("<HH", data, start + 26)
    middle = start + 30 + name_length + extra_length + 200
    (tmp_path / "bad.3mf").write_bytes(data[:middle] + bytes(300) + data[middle + 300 :])
    with pytest.raises(FileFormatError, match=r"bad\.3mf is damaged"):
        read_mesh(tmp_path / "bad.3mf")


def test_document_types_are_refused(tmp_path):
    bomb = '<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;">]>' + model(solid(1), '<item objectid="1"/>')
    with pytest.raises(FileFormatError, match="it has a document type"):
        read_mesh(archive(tmp_path, {"3D/3dmodel.model": bomb}))
