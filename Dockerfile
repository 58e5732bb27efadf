# t2i with everything under a permissive licence, for an NVIDIA GPU or the CPU. Not built by the project's own checks.
#
#   docker build -t t2i .
#   docker run --rm --gpus all -v "$PWD:/work" -v t2i-cache:/cache t2i eval --metric tiam --model mini

FROM python:3.12-slim AS wheels
RUN pip install --no-cache-dir uv
WORKDIR /source
COPY . .
RUN uv build --all-packages --wheel --out-dir /wheels

FROM python:3.12-slim
# torch compiles some kernels when they are first used
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
COPY --from=wheels /wheels /wheels
RUN pip install --no-cache-dir --find-links /wheels 't2i[all]' && rm -r /wheels
ENV T2I_CACHE_DIR=/cache/t2i HF_HOME=/cache/huggingface TORCH_HOME=/cache/torch
VOLUME /cache
WORKDIR /work
ENTRYPOINT ["t2i"]
CMD ["--help"]
