"""The pictures of the docs are those that `make pictures` makes now."""

import json

import pictures
import pytest

ON_PAGES = set(pictures.PICTURES)


def test_every_picture_is_made_by_the_command():
    here = {path.stem for path in pictures.IMAGES.glob("*.png")}
    of_the_benchmark = {name for name in here if name.startswith("benchmark-")}  # its own command's
    assert here - of_the_benchmark <= ON_PAGES
    assert set(pictures.stamps()) <= ON_PAGES
    names = pictures.environments.names()
    own = {n for n in names if pictures.environments.get(n).__module__.startswith("fairgym.")}
    assert set(pictures.GALLERY) == own


def test_no_picture_is_stale():
    """A picture without a stamp has not been made by the command yet."""
    made, stale = pictures.stamps(), pictures.stale()
    again = [name for name in stale if name in made]
    assert not again, f"stale: {', '.join(again)}; run `make pictures`"
    if stale:
        pytest.skip(f"not made by the command yet: {', '.join(stale)}; run `make pictures`")


def test_a_picture_is_stale_when_what_it_is_made_from_has_changed(monkeypatch):
    name = "gallery-doughnut"
    assert name not in pictures.stale()
    now = pictures.PICTURES[name].fingerprint()
    longer = pictures.Small("take_turns", "handed_out", episodes=1)
    for field, value in (("DRAWING", 0), ("GALLERY", {**pictures.GALLERY, "doughnut": longer})):
        with monkeypatch.context() as patch:
            patch.setattr(pictures, field, value)
            assert pictures.PICTURES[name].fingerprint() != now
            assert name in pictures.stale()


def test_a_picture_of_learned_policies_follows_their_configuration(monkeypatch):
    now = pictures.PICTURES["readme"].fingerprint()
    assert now == pictures.PICTURES["readme"].fingerprint()
    monkeypatch.setattr(pictures, "SEEDS", (0, 1))
    assert pictures.PICTURES["readme"].fingerprint() != now


def test_a_picture_of_a_what_if_follows_the_command_of_its_page(monkeypatch):
    picture = pictures.PICTURES["what-if-relief"]
    assert isinstance(picture, pictures.Asked) and "what-if-relief" not in pictures.stale()
    now = picture.fingerprint()
    longer = {picture.page: f"{pictures.example_pages.PAGES[picture.page]} --seed 1"}
    monkeypatch.setattr(pictures.example_pages, "PAGES", longer)
    assert picture.fingerprint() != now
    gallery = (pictures.ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert "(images/what-if-relief.png)](examples/what-if-relief.html)" in gallery


@pytest.mark.full
def test_a_picture_is_made_and_stamped(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(pictures, "IMAGES", tmp_path)
    monkeypatch.setattr(pictures, "STAMPS", tmp_path / "pictures.json")
    pictures.main(["gallery-doughnut"])
    assert (tmp_path / "gallery-doughnut.png").read_bytes().startswith(b"\x89PNG")
    assert set(json.loads((tmp_path / "pictures.json").read_text())) == {"gallery-doughnut"}
    assert "gallery-doughnut" not in pictures.stale()
    pictures.main(["gallery-doughnut"])
    assert "with the same numbers" in capsys.readouterr().out
