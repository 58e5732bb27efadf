from __future__ import annotations

from pathlib import Path

PLUGIN = """
    from pathlib import Path

    from t2i_core.api import About, GeneratorInfo, JudgeInfo, Loading, Options, hookimpl
    from t2i_core.api.errors import BadModel


    class Precision(Options):
        precision: str = "auto"
        more: dict[str, int] = {}


    def fetch(setup):
        if setup.argument == "gone":
            raise BadModel("nobody has 'gone'")
        with Path("fetched").open("a") as file:
            file.write(f"{setup.argument} {setup.options.precision}\\n")


    def weights(argument, options):
        return [Path(f"{argument}.bin"), f"ORG/{argument}@{'89abcdef01' * 4}", "the second edition"]


    def settle(setup):
        return Precision(precision={"cpu": "float32"}.get(setup.device, "float16"))


    @hookimpl
    def t2i_generators():
        return [
            GeneratorInfo(name="far", summary="Far.", options=Precision, create=print, argument="which",
                          loading=Loading(prefetch=fetch, resolve=settle, weights=weights),
                          about=About(notes="Gated: ask its owner.", memory_gb=2.5))
        ]


    @hookimpl
    def t2i_judges():
        return [JudgeInfo(name="near", summary="Near.", capabilities={"reward": frozenset()}, create=print)]
"""
NO_GPU = """def check(setup):
        if setup.device == "cuda":
            raise BadModel("no GPU here")


    """
POINTS = {"t2i.generators": {"far": "x_far"}, "t2i.judges": {"near": "x_far"}}


def test_weights_are_fetched_once_with_the_options_of_this_machine(toy, install, t2i, tmp_path, monkeypatch):
    install("x-far", POINTS, {"x_far": PLUGIN})
    monkeypatch.chdir(tmp_path)
    done = t2i("prefetch", "far:a", "far:a", "near", "--device", "cpu")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == f"generator far:a: is here, ORG/a@{'89abcdef01' * 4}\njudge near: needs no download\n"
    assert (tmp_path / "fetched").read_text() == "a float32\n"


def test_all_parts_of_a_recipe_are_fetched(toy, install, t2i, tmp_path, monkeypatch):
    install("x-far", POINTS, {"x_far": PLUGIN})
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.txt").write_text("a dog\n")
    (tmp_path / "r.yaml").write_text("models: ['far:a', 'far:b']\nprompts: two.txt\n")
    done = t2i("prefetch", "r.yaml")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "fetched").read_text() == "a float16\nb float16\n"


def test_a_recipe_for_a_gpu_is_fetched_on_a_machine_without(toy, install, t2i, tmp_path, monkeypatch):
    wants_gpu = PLUGIN.replace("def weights(", NO_GPU + "def weights(").replace(
        "prefetch=fetch,", "prefetch=fetch, check=check,"
    )
    install("x-far", POINTS, {"x_far": wants_gpu})
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.txt").write_text("a dog\n")
    (tmp_path / "r.yaml").write_text("models: 'far:a'\nprompts: two.txt\ndevice: cuda\n")
    done = t2i("prefetch", "r.yaml")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "fetched").read_text() == "a float16\n"
    assert t2i("prefetch", "r.yaml", "--device", "cuda").stderr == "error: no GPU here\n"


def test_damaged_weights_are_reported(toy, install, t2i, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cut = PLUGIN.replace("def weights(", CUT + "def weights(").replace(
        "prefetch=fetch,", "prefetch=fetch, check=check,"
    )
    install("x-far", POINTS, {"x_far": cut})
    done = t2i("prefetch", "far:a")
    assert (done.exit_code, done.stdout, done.stderr) == (12, "", "error: a.bin is cut off\n")
    assert (tmp_path / "fetched").is_file()


CUT = """def check(setup):
        raise BadModel("a.bin is cut off")


    """


def test_of_one_model_under_several_settings_it_is_said_once(toy, t2i, tmp_path):
    (tmp_path / "r.yaml").write_text(
        "metrics: brightness\nprompts: four\noffline: true\n"
        "models: [grey, {model: grey, settings: {level: 7}}, {model: grey, label: dark, settings: {level: 8}}]\n"
    )
    done = t2i("prefetch", "r.yaml")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines() == [
        "generator grey: needs no download",
        "judge meter: needs no download",
    ]


def test_missing_weights_are_not_reported_as_local(install, t2i):
    install(
        "x-lists",
        {"t2i.prompt_sources": {"list": "x_lists"}, "t2i.judges": {"strict": "x_lists"}},
        {"x_lists": LISTS},
    )
    gone = t2i("prefetch", "list:gone.txt")
    assert (gone.exit_code, gone.stderr) == (10, "error: there is no gone.txt\n")
    Path("here.txt").write_text("a dog\n")
    assert t2i("prefetch", "list:here.txt").stdout == "prompt source list:here.txt: needs no download\n"
    wrong = t2i("prefetch", "strict")
    assert (wrong.exit_code, wrong.stdout, wrong.stderr) == (6, "", "error: never right\n")


LISTS = """
    from pathlib import Path

    from t2i_core.api import JudgeInfo, Loading, Prompt, PromptSourceInfo, hookimpl
    from t2i_core.api.errors import BadOption, BadPrompts


    def prompts(setup):
        if not Path(setup.argument).is_file():
            raise BadPrompts(f"there is no {setup.argument}")
        yield Prompt("one", "a dog")


    def check(setup):
        raise BadOption("never right")


    @hookimpl
    def t2i_prompt_sources():
        return [PromptSourceInfo(name="list", summary="A list.", argument="FILE", prompts=prompts)]


    @hookimpl
    def t2i_judges():
        loading = Loading(check=check)
        return [JudgeInfo(name="strict", summary="S.", capabilities={}, create=print, loading=loading)]
"""


def test_failed_downloads_are_reported(toy, install, t2i, tmp_path, monkeypatch):
    install("x-far", POINTS, {"x_far": PLUGIN})
    monkeypatch.chdir(tmp_path)
    gone = t2i("prefetch", "far:gone")
    assert (gone.exit_code, gone.stderr) == (12, "error: nobody has 'gone'\n")
    unknown = t2i("prefetch", "nonsense")
    assert unknown.exit_code == 3
    assert unknown.stderr == "error: unknown component 'nonsense'; `t2i list-plugins` shows all names\n"
    assert "is a metric and needs no download" in t2i("prefetch", "brightness").stderr
    assert (
        t2i("prefetch", "p.txt").stderr
        == "error: p.txt is a prompt file and needs no download; name a model, a judge or a recipe\n"
    )


def test_info_says_what_a_user_must_know(toy, install, t2i):
    install("x-far", POINTS, {"x_far": PLUGIN})
    shown = t2i("info", "far").stdout
    assert "notes:        Gated: ask its owner." in shown
    assert "memory:       about 2.5GB" in shown


PRESETS = """
    from t2i_core.api import GeneratorInfo, Loading, Preset, hookimpl
    from t2i_core.api.errors import BadModel, NotHere


    def check(setup):
        assert setup.offline
        if setup.argument == "odd":
            raise BadModel("an odd one")
        if setup.argument == "gone":
            raise NotHere("its weights", "x")


    @hookimpl
    def t2i_generators():
        far = GeneratorInfo(name="far", summary="Far.", create=print, argument="which", needs_argument=True,
                            loading=Loading(prefetch=print, check=check))
        names = ("here", "gone", "odd")
        return [far, *(Preset(name=name, summary=name, of="far", argument=name) for name in names)]
"""


def test_doctor_says_whose_weights_are_missing(toy, install, t2i):
    points = {"t2i.generators": dict.fromkeys(("far", "here", "gone", "odd"), "x_far")}
    install("x-far", points, {"x_far": PRESETS})
    said = t2i("doctor")
    assert said.exit_code == 0, said.stderr
    assert "weights:   here: here; missing: gone\n" in said.stdout
    assert "t2i prefetch NAME downloads missing weights" in said.stdout
    assert "cannot tell whether the weights are here: odd: an odd one" in said.stdout
