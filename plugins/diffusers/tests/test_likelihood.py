"""A model asked for the likelihood of an image under captions."""

from __future__ import annotations

import inspect
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image as Pillow
from t2i_core.api import (
    Failure,
    LikelihoodTerms,
    Measure,
    Metric,
    MetricInfo,
    Need,
    Prompt,
    PromptSourceInfo,
    Query,
    Row,
    Setup,
)
from t2i_core.api.errors import BadModel, BadOption, FailedRun, NoJudge
from t2i_core.api.image import Image, load_image
from t2i_core.api.observation_codec import encode
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.testing import StaticResolver

CAPTIONS = ("a photo of a cat", "a red dog on the lawn, next to a blue giraffe", "a car")
FEW = {"trials": 2, "steps": 4}
NOISE = ["StableDiffusionPipeline", "StableDiffusionXLPipeline", "IFPipeline", "LDMTextToImagePipeline"]
NOISE += ["PixArtSigmaPipeline", "HunyuanDiTPipeline"]
FLOWS = ["StableDiffusion3Pipeline", "FluxPipeline", "Flux2Pipeline", "Flux2KleinPipeline", "QwenImagePipeline"]
FLOWS += ["SanaPipeline", "ZImagePipeline"]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """A photo that is wider than high."""
    path = tmp_path_factory.mktemp("images") / "one.png"
    ramp = np.linspace(0, 255, 48)
    pixels = np.stack([np.tile(ramp, (32, 1)), np.full((32, 48), 90.0), np.tile(ramp[::-1], (32, 1))], 2)
    Pillow.fromarray(pixels.astype(np.uint8)).save(path)
    return load_image(path)


def answer(model: Any, image: Image, captions: tuple[str, ...] = CAPTIONS, **params: Any) -> Any:
    """Ask a model one thing; what it says must be fit to be kept."""
    query = Query((image,), captions, {**FEW, **params})
    ((same, found),) = model.observe("likelihood", iter([query]))
    assert same is query
    if isinstance(found, LikelihoodTerms):
        encode(found, "likelihood", None, query)
    return found


def with_batch(model: Any, size: int) -> Any:
    """The same model, asked for a number of samples at a time."""
    from t2i_diffusers.likelihood import Likelihood

    model._likelihood = Likelihood(model.loaded, replace(model._setup, batch_size=size))
    return model


def close(a: Any, b: Any, tolerance: float = 1e-4) -> None:
    """Terms are equal, relative to the largest of each kind."""
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_allclose(a[name], b[name], rtol=0, atol=tolerance * np.nanmax(np.abs(b[name])))


def gaussian(model: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], float]:
    """Let a model be the best denoiser of latents N(m, 1), m of the caption; return how m is told."""
    from diffusers.models.unets.unet_2d_condition import UNet2DConditionOutput

    pipe = model.loaded.main.pipe
    signal = torch.cumprod(1 - pipe.scheduler.betas.double(), 0)

    def mean(embeds: torch.Tensor) -> torch.Tensor:
        return 10 * embeds.detach().double()[:, 1:9, 0].mean(1)

    def forward(sample: Any, timestep: Any, encoder_hidden_states: Any, **further: Any) -> Any:
        at = signal[timestep.long()][:, None, None, None]
        noise = (1 - at).sqrt() * (sample.double() - at.sqrt() * mean(encoder_hidden_states)[:, None, None, None])
        return UNet2DConditionOutput(noise.to(sample.dtype)).to_tuple()

    monkeypatch.setattr(pipe.unet, "forward", forward)

    def told(caption: str) -> float:
        return float(mean(pipe.encode_prompt([caption], torch.device("cpu"), 1, False)[0])[0])

    return told


def latents(model: Any, image: Image) -> torch.Tensor:
    """What the model sees of an image."""
    from t2i_diffusers.latents import encode, fit_image
    from t2i_diffusers.parts import parts

    return encode(parts(model.loaded), fit_image(image.pil(), (32, 32), "crop"), torch.device("cpu"))


def test_exact_on_gaussian_latents(model: Any, image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    # of N(m, 1) the reverse chain is Gaussian with variance beta, so that each trial tells the exact likelihood,
    # but for what the prior is wrong about x_T, which is known
    from t2i_diffusers.arithmetic import draw_noise, forward, log_normal
    from t2i_diffusers.schedules import respace

    loaded = model(batch_size=5)
    told = gaussian(loaded, monkeypatch)
    found = answer(loaded, image, variance="beta", trials=3, steps=10).terms
    x0 = latents(loaded, image)
    steps = respace(loaded.loaded.main.pipe.scheduler.betas.double(), 10)
    one = torch.ones((), dtype=torch.float64)
    exact = [log_normal(x0, torch.full_like(x0, told(c)), one) for c in CAPTIONS]
    assert np.ptp(exact) > 1
    for n in range(3):
        last = forward(x0, steps, draw_noise(0, n, 10, x0.shape), "step")[-1]
        for k, caption in enumerate(CAPTIONS):
            end = torch.full_like(last, float(steps.signal[-1].sqrt()) * told(caption))
            prior = log_normal(last, end, one) - found["log_prior"][n, k]
            total = found["log_prior"][n, k] + prior + (found["log_p"] - found["log_q"])[n, :, k].sum()
            assert total == pytest.approx(exact[k], rel=1e-5)


def test_errors_are_exact_on_gaussian_latents(model: Any, image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    from t2i_diffusers.arithmetic import draw_noise

    loaded = model(batch_size=5)
    told = gaussian(loaded, monkeypatch)
    found = answer(loaded, image, terms="error").terms["error"]
    x0 = latents(loaded, image)
    signal = torch.cumprod(1 - loaded.loaded.main.pipe.scheduler.betas.double(), 0)
    for n in range(2):
        for i, t in enumerate((125, 375, 625, 875)):
            noise = draw_noise(0, n, 4, x0.shape)[i]
            x = signal[t].sqrt() * x0 + (1 - signal[t]).sqrt() * noise
            for k, caption in enumerate(CAPTIONS):
                guess = (1 - signal[t]).sqrt() * (x - signal[t].sqrt() * told(caption))
                assert found[n, i, k] == pytest.approx(float(((noise - guess) ** 2).mean()), rel=1e-5)


@pytest.mark.parametrize("chain", ["free-running", "free-running-mean"])
def test_a_free_running_chain_continues_from_its_own_samples_or_means(
    chain: str, model: Any, image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    from t2i_diffusers.arithmetic import draw_noise, forward, log_normal
    from t2i_diffusers.schedules import respace

    loaded = model(batch_size=4)
    told = gaussian(loaded, monkeypatch)
    found = answer(loaded, image, chain=chain, variance="beta").terms["log_p"]
    assert np.array_equal(found, answer(loaded, image, chain=chain, variance="beta").terms["log_p"])
    x0 = latents(loaded, image)
    steps = respace(loaded.loaded.main.pipe.scheduler.betas.double(), 4)
    for n in range(2):
        xs = forward(x0, steps, draw_noise(0, n, 4, x0.shape), "step")
        own = draw_noise(0, n, 4, x0.shape, "reverse process")
        assert abs(float((own * draw_noise(0, n, 4, x0.shape)).mean())) < 0.2  # independent of the forward noise
        for k, caption in enumerate(CAPTIONS):
            now, m = xs[-1], told(caption)
            for i in (3, 2, 1, 0):  # E(x_{t-1} | x_t) of N(m, 1)
                away = now - steps.signal[i].sqrt() * m
                now = steps.before[i].sqrt() * m + (1 - steps.beta[i]).sqrt() * away
                assert found[n, i, k] == pytest.approx(log_normal(xs[i], now, steps.beta[i]), rel=1e-5)
                if chain == "free-running":
                    now = now + steps.beta[i].sqrt() * own[i]


@pytest.mark.long
@pytest.mark.parametrize(
    "params", [{}, {"chain": "free-running"}, {"chain": "free-running-mean"}, {"terms": "error"}]
)
def test_batches_and_company_change_nothing(params: dict[str, Any], model: Any, image: Image) -> None:
    loaded = model(batch_size=1)
    one_by_one = answer(loaded, image, **params)
    together = answer(with_batch(loaded, 7), image, **params)
    close(together.terms, one_by_one.terms)
    assert together.calls == one_by_one.calls == 2 * 4 * 3
    backwards = answer(with_batch(loaded, 5), image, CAPTIONS[::-1], **params)
    close({name: term[..., ::-1] for name, term in backwards.terms.items()}, one_by_one.terms)
    alone = answer(with_batch(loaded, 2), image, CAPTIONS[1:2], **params)
    close(alone.terms, {name: term[..., 1:2] for name, term in one_by_one.terms.items()})


@pytest.mark.long
@pytest.mark.parametrize("chain", ["forward", "free-running"])
def test_predictions_of_velocity_and_noise_agree(
    chain: str, model: Any, image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = answer(model(batch_size=4), image, chain=chain)
    other = model(batch_size=4, scheduler_options={"prediction_type": "v_prediction"})
    unet = other.loaded.main.pipe.unet
    signal = torch.cumprod(1 - other.loaded.main.pipe.scheduler.betas.double(), 0)
    of_noise = unet.forward

    def of_velocity(sample: Any, timestep: Any, *args: Any, **kwargs: Any) -> Any:
        (noise,) = of_noise(sample, timestep, *args, **kwargs)
        at = signal[timestep.long()][:, None, None, None]
        x0 = (sample.double() - (1 - at).sqrt() * noise.double()) / at.sqrt()
        return ((at.sqrt() * noise.double() - (1 - at).sqrt() * x0).float(),)

    monkeypatch.setattr(unet, "forward", of_velocity)
    close(answer(other, image, chain=chain).terms, expected.terms)
    assert other.settings["likelihood"]["prediction"] == "v_prediction"


@pytest.mark.long
@pytest.mark.parametrize("pipeline", [*NOISE, "Kandinsky3Pipeline", *FLOWS])
def test_the_denoiser_says_what_it_says_when_the_pipeline_draws(pipeline: str, model: Any) -> None:
    from t2i_diffusers.conditions import _call
    from t2i_diffusers.denoiser import Asking, Denoiser

    loaded = model(pipeline).loaded
    stage, denoiser = loaded.main, Denoiser(loaded, 4)
    module, scheduler = denoiser.parts.denoiser, denoiser.parts.scheduler
    signature = inspect.signature(type(module).forward)
    asked: list[tuple[str, Any, Any, Any]] = []
    step = scheduler.step

    def listened(output: Any, t: Any, *args: Any, **kwargs: Any) -> Any:
        asked[-1] = (*asked[-1][:2], output, t)
        return step(output, t, *args, **kwargs)

    def sampled(own: Any, args: Any, kwargs: Any) -> None:
        asked.append(
            (caption, next(iter(list(signature.bind(own, *args, **kwargs).arguments.values())[1:2])), 0, 0)
        )

    handle = module.register_forward_pre_hook(sampled, with_kwargs=True)
    scheduler.step = listened
    for caption in CAPTIONS[:2]:
        stage.pipe(**{**_call(stage, caption, denoiser.size), "num_inference_steps": 2})
    handle.remove()
    scheduler.step = step
    assert len(asked) >= 4
    length = 1000.0 if denoiser.schedule.is_flow else 1.0
    questions = [(Asking(x[0].double(), float(t) / length, c), i) for i, (c, x, _, t) in enumerate(asked)]
    answers = list(denoiser.ask(questions))
    assert [i for i, _ in answers] == list(range(len(asked)))
    assert denoiser.calls == len(asked)
    for i, output in answers:
        expected = asked[i][2][0].double()
        output = output.reshape(-1, *expected.shape[1:])  # Z-Image's has an axis of time
        torch.testing.assert_close(output[: len(expected)], expected, rtol=1e-3, atol=1e-4)


class Decoding(Exception):
    """The pipeline is about to decode these latents."""


@pytest.mark.long
@pytest.mark.parametrize("pipeline", [p for p in [*NOISE, "Kandinsky3Pipeline", *FLOWS] if p != "IFPipeline"])
def test_an_image_is_encoded_to_the_latents_that_the_pipeline_would_decode_to_it(
    pipeline: str, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from diffusers.models.modeling_outputs import AutoencoderKLOutput
    from t2i_diffusers.conditions import _call
    from t2i_diffusers.latents import encode, find_size
    from t2i_diffusers.parts import parts

    loaded = model(pipeline).loaded
    own, stage = parts(loaded), loaded.main
    if pipeline.startswith("Flux2"):  # whose autoencoder has the latents' mean and variance from its training
        own.autoencoder.bn.running_mean += 0.1
        own.autoencoder.bn.running_var *= 1.5
    drawn: list[torch.Tensor] = []
    step = own.scheduler.step

    def listened(*args: Any, **kwargs: Any) -> Any:
        stepped = step(*args, **kwargs)
        drawn.append(stepped[0])
        return stepped

    def decode(z: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        raise Decoding(z)

    monkeypatch.setattr(own.scheduler, "step", listened)
    monkeypatch.setattr(own.autoencoder, "decode", decode)
    with torch.inference_mode(), pytest.raises(Decoding) as stopped:
        stage.pipe(**{**_call(stage, CAPTIONS[0], find_size(own, stage)), "output_type": "pt"})
    (z,) = stopped.value.args
    encoded = AutoencoderKLOutput(latent_dist=SimpleNamespace(mean=z))
    monkeypatch.setattr(own.autoencoder, "encode", lambda x: encoded)
    found = encode(own, np.zeros((32, 32, 3), np.uint8), torch.device("cpu"))
    torch.testing.assert_close(found.flatten(), drawn[-1][0].double().flatten(), rtol=1e-4, atol=1e-4)


@pytest.mark.long
@pytest.mark.parametrize("pipeline", NOISE[1:])
def test_models_of_noise(pipeline: str, model: Any, image: Image) -> None:
    loaded = model(pipeline, batch_size=4)
    found = answer(loaded, image, CAPTIONS[:2], trials=1)
    assert found.terms["log_p"].shape == found.terms["log_q"].shape == (1, 4, 2)
    assert found.terms["log_prior"].shape == (1, 2)
    assert (found.terms["log_p"][..., 0] != found.terms["log_p"][..., 1]).all(), "captions matter"
    assert (found.terms["log_prior"][:, 0] == found.terms["log_prior"][:, 1]).all()
    close(answer(with_batch(loaded, 1), image, CAPTIONS[:2], trials=1).terms, found.terms)


@pytest.mark.long
@pytest.mark.parametrize("pipeline", FLOWS)
def test_flows_tell_their_errors_alone(pipeline: str, model: Any, image: Image) -> None:
    loaded = model(pipeline, batch_size=3)
    found = answer(loaded, image, CAPTIONS[:2], terms="error", trials=1)
    assert (found.terms["error"][..., 0] != found.terms["error"][..., 1]).all(), "captions matter"
    share = np.array([0.125, 0.375, 0.625, 0.875])
    size = np.prod(loaded._likelihood._denoiser.shape(CAPTIONS[0]))
    assert found.terms["weight"][0, :, 0] == pytest.approx(size * (1 - share) / share)
    close(answer(with_batch(loaded, 1), image, CAPTIONS[:2], terms="error", trials=1).terms, found.terms)
    with pytest.raises(BadOption, match="which a flow does not have; use terms=error"):
        answer(loaded, image)
    assert loaded.settings["likelihood"]["terms"] == "error (of the velocity)"


@pytest.mark.long
def test_a_variance_that_was_learned_is_taken(model: Any, image: Image) -> None:
    pixels, latent = model("IFPipeline", batch_size=8), model(batch_size=8)
    learned = answer(pixels, image).terms["log_p"]
    assert np.array_equal(learned, answer(pixels, image, variance="learned").terms["log_p"])
    assert not np.allclose(learned, answer(pixels, image, variance="beta").terms["log_p"], rtol=0.01)
    posterior = answer(latent, image).terms["log_p"]
    assert np.array_equal(posterior, answer(latent, image, variance="posterior").terms["log_p"])
    with pytest.raises(BadOption, match="no learned variance"):
        answer(latent, image, variance="learned")


def test_texts_are_encoded_once(model: Any, image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = model(batch_size=2)
    encoder, texts = loaded.loaded.main.pipe.text_encoder, []
    forward = encoder.forward
    monkeypatch.setattr(encoder, "forward", lambda *a, **k: texts.append(1) or forward(*a, **k))
    for seed in (0, 1):
        answer(loaded, image, seed=seed)
    assert len(texts) == len(CAPTIONS)


def test_captions_are_given_up_that_cannot_win(model: Any, image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = model(batch_size=16)
    gaussian(loaded, monkeypatch)
    more = {"trials": 4, "steps": 40}
    exact = answer(loaded, image, **more)
    found = answer(loaded, image, error_rate=0.01, **more)
    assert found.calls < exact.calls / 2
    there = ~np.isnan(found.terms["log_p"])
    assert there.sum() == found.calls
    best = exact.terms["log_p"].mean((0, 1)).argmax()
    longest = there.sum((0, 1)) == there.sum((0, 1)).max()
    assert np.where(longest, np.nanmean(found.terms["log_p"], axis=(0, 1)), -np.inf).argmax() == best
    close({"log_p": found.terms["log_p"][there]}, {"log_p": exact.terms["log_p"][there]})
    staged = answer(loaded, image, terms="error", stages=[[8, 2], [24, 1]], **more)
    assert staged.calls == 8 * 3 + 16 * 2
    assert sorted((~np.isnan(staged.terms["error"])).sum((0, 1))) == [8, 24, 24]


@pytest.mark.long
def test_the_seed_makes_the_noise_and_images_share_it(model: Any, image: Image, tmp_path: Path) -> None:
    loaded = model(batch_size=4)
    Pillow.new("RGB", (40, 40), "white").save(tmp_path / "white.png")
    first, again = answer(loaded, image).terms, answer(model(batch_size=4), image).terms
    assert all(np.array_equal(first[name], again[name]) for name in first)
    other = answer(loaded, load_image(tmp_path / "white.png")).terms
    np.testing.assert_allclose(other["log_q"], first["log_q"], rtol=1e-9)
    assert not np.allclose(other["log_p"], first["log_p"])
    assert not np.allclose(answer(loaded, image, seed=1).terms["log_q"], first["log_q"])
    assert "log_q" not in answer(loaded, image, noise="trial").terms


def test_images_are_brought_to_the_models_size(model: Any, image: Image) -> None:
    from t2i_diffusers.latents import fit_image

    whole = fit_image(image.pil(), (32, 32), "stretch")
    middle = fit_image(image.pil(), (32, 32), "crop")
    assert whole.shape == middle.shape == (32, 32, 3)
    assert whole[0, 0, 0] < 10
    assert middle[0, 0, 0] == pytest.approx(255 * 8 / 47, abs=3)
    loaded = model(batch_size=4, height=64, width=48)
    assert np.isfinite(answer(loaded, image).terms["log_p"]).all()
    assert loaded.settings["likelihood"]["size"] == [48, 64]


@pytest.mark.long
@pytest.mark.parametrize("given", [None, 8])
def test_a_batch_that_does_not_fit_is_halved(
    given: int | None, model: Any, image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = answer(model(batch_size=2), image)
    loaded = model(batch_size=given)
    unet = loaded.loaded.main.pipe.unet
    forward, room = unet.forward, [3]

    def short(sample: Any, *args: Any, **kwargs: Any) -> Any:
        if len(sample) > room[0]:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return forward(sample, *args, **kwargs)

    monkeypatch.setattr(unet, "forward", short)
    found = answer(loaded, image)
    close(found.terms, expected.terms)
    assert found.calls == expected.calls
    said = {"asked": given or "auto", "used": 2, "halved_for_memory": 2}
    assert loaded.settings["likelihood"]["batch_size"] == said
    room[0] = 0
    with pytest.raises(FailedRun, match="a single sample does not fit into memory"):
        answer(loaded, image)


@pytest.mark.parametrize("part", ["unet", "vae"])
def test_images_that_are_not_numbers_are_failures(
    part: str, model: Any, image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = model(batch_size=4)
    with torch.no_grad():
        next(iter(getattr(loaded.loaded.main.pipe, part).parameters())).fill_(float("nan"))
    found = answer(loaded, image)
    assert isinstance(found, Failure)
    assert "that are not numbers in float32; the checkpoint is probably damaged" in found.reason


def test_no_caption_and_two_images_are_failures(model: Any, image: Image) -> None:
    loaded = model(batch_size=4)
    for query in (Query((image,)), Query((image, image), CAPTIONS), Query((), CAPTIONS)):
        ((_, found),) = loaded.observe("likelihood", [query])
        assert isinstance(found, Failure)
        assert "one image and at least one caption" in found.reason


@pytest.mark.parametrize(
    ("pipeline", "said"),
    [
        ("UnCLIPPipeline", "UnCLIPPipeline does not have exactly one denoiser"),
        ("KandinskyPipeline", "draws from a prior's embedding of the text"),
        ("StableDiffusionAttendAndExcitePipeline", "needs token_indices besides a text"),
    ],
)
def test_models_that_draw_from_more_than_a_text_are_refused(
    pipeline: str, said: str, model: Any, image: Image
) -> None:
    with pytest.raises(BadModel, match=said):
        answer(model(pipeline), image)


class Pick(Metric):
    """How often the right caption is the likeliest."""

    needs = (
        Need(
            "likelihood",
            "likelihood",
            source="model",
            images="prompt",
            queries=lambda s: [Query(s[0].own_images, s[0].prompt.texts, FEW)],
        ),
    )

    def measure(self, unit: Any) -> Iterator[Row]:
        terms = unit.one().one("likelihood").terms["log_p"]
        yield Row("accuracy", float(terms.mean((0, 1)).argmax() == unit.prompt.answer))


PICK = MetricInfo(
    name="pick", summary="Picks a caption.", create=Pick, measures=(Measure("accuracy", "Right picks.", 0, 1),)
)


def test_a_metric_asks_the_model_itself(
    checkpoint: Any, image: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from t2i_diffusers import generator
    from t2i_diffusers.plugin import t2i_generators

    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    folder, _ = checkpoint("StableDiffusionPipeline")
    prompts = [Prompt(c, c, images=(str(image.path),), texts=CAPTIONS, answer=i) for i, c in enumerate(CAPTIONS)]
    source = PromptSourceInfo(name="captions", summary="Captions.", prompts=lambda setup: prompts)

    resolver = StaticResolver(source, *t2i_generators())

    def run(name: str, out: str) -> Any:
        model = f"{name}:{folder}"
        return evaluate(
            PICK, model, prompts="captions", out=tmp_path / out, resolver=resolver, seeds=1, device="cpu"
        )

    (result,) = run("diffusers", "run").results
    assert (result.n_ok, result.n_failed) == (3, 0)
    assert result.score == pytest.approx(1 / 3), "one image, three answers, each right once"
    manifest = json.loads((tmp_path / "run" / "run.json").read_text())
    (said,) = manifest["models"].values()
    assert said["reported_as_judge"]["likelihood"]["guidance"] == "none"
    monkeypatch.setattr(generator, "load", None)  # everything is kept
    assert run("diffusers", "again").results[0].score == result.score
    with pytest.raises(NoJudge, match=r"attend-excite.*does not offer"):
        run("attend-excite", "refused")


@pytest.mark.parametrize(
    ("pipeline", "said"),
    [
        ("UnCLIPPipeline", "UnCLIPPipeline does not have exactly one denoiser"),
        ("KandinskyPipeline", "draws from a prior's embedding of the text"),
    ],
)
def test_the_plan_refuses_models_that_draw_from_more_than_a_text(
    pipeline: str, said: str, checkpoint: Any, image: Image, tmp_path: Path
) -> None:
    from t2i_diffusers.plugin import t2i_generators

    folder, options = checkpoint(pipeline)
    source = PromptSourceInfo(name="captions", summary="Captions.", prompts=lambda setup: [])
    model = ModelRequest(f"diffusers:{folder}", settings=options)
    with pytest.raises(NoJudge, match=said):
        make_plan(Request((PICK,), (model,), ("captions",)), StaticResolver(source, *t2i_generators()))


@pytest.mark.parametrize("model", ["unclip", "kandinsky21"])
def test_a_known_model_without_a_likelihood_is_refused_before_it_is_fetched(model: str) -> None:
    from t2i_diffusers.likelihood_support import check_askable
    from t2i_diffusers.options import DiffusersOptions
    from t2i_diffusers.presets import KNOWN

    (known,) = (known for known in KNOWN if known.name == model)
    with pytest.raises(NoJudge, match="it has no likelihood"):
        check_askable(Setup(known.repository, DiffusersOptions(**known.options), offline=True), [])


def copied(folder: Path, to: Path, scheduler: str) -> Path:
    """The same checkpoint with another scheduler, and without the weights of its denoiser."""
    shutil.copytree(folder, to, ignore=shutil.ignore_patterns("*.safetensors"))
    own = {"_class_name": scheduler, "num_train_timesteps": 1000}
    (to / "scheduler" / "scheduler_config.json").write_text(json.dumps(own))
    index = json.loads((to / "model_index.json").read_text())
    (to / "model_index.json").write_text(json.dumps({**index, "scheduler": ["diffusers", scheduler]}))
    return to


def test_unsupported_schedules_are_refused_before_anything_is_loaded(checkpoint: Any, tmp_path: Path) -> None:
    from t2i_diffusers.likelihood_support import check_askable
    from t2i_diffusers.options import DiffusersOptions

    noise, flow = (checkpoint(name)[0] for name in ("StableDiffusionPipeline", "StableDiffusion3Pipeline"))
    edm = copied(noise, tmp_path / "edm", "EDMEulerScheduler")
    of_flow = copied(noise, tmp_path / "flow", "FlowMatchEulerDiscreteScheduler")
    broken = copied(noise, tmp_path / "broken", "DDIMScheduler")
    (broken / "scheduler" / "scheduler_config.json").write_text("{")

    def check(folder: Path, *params: dict[str, Any], **options: Any) -> None:
        check_askable(Setup(str(folder), DiffusersOptions(**options), "cpu"), params)

    errors = {"terms": "error", "steps": 1000}
    check(noise, {"steps": 1000}, errors)
    check(flow, errors)
    check(noise, scheduler="DPMSolverMultistepScheduler")
    for error, told, folder, params, options in (
        (BadModel, "EDMEulerScheduler has no betas", edm, errors, {}),
        (BadModel, "EDMEulerScheduler has no betas", noise, errors, {"scheduler": "EDMEulerScheduler"}),
        (BadModel, "likelihoods of a StableDiffusionPipeline with the flow", of_flow, errors, {}),
        (BadModel, "scheduler_config.json: is not valid JSON", broken, errors, {}),
        (BadOption, "which a flow does not have; use terms=error", flow, {}, {}),
        (BadOption, "1001, but the model was trained on 1000", noise, {"steps": 1001}, {}),
        (BadOption, "param guidance", noise, {"guidance": 3}, {}),
    ):
        with pytest.raises(error, match=told) as caught:
            check(folder, params, **options)
        assert "\n" not in str(caught.value)
