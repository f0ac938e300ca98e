# SPDX-License-Identifier: Apache-2.0
# Lockstep on a fresh Debian, for CPUs: builds the program, then `make train`.
#   docker build -t lockstep . && docker run --rm -v "$PWD/runs:/src/lockstep/runs" lockstep
FROM debian:12
WORKDIR /src/lockstep
COPY tools/setup.sh tools/
RUN tools/setup.sh first && rm -rf /var/lib/apt/lists/*
COPY . .
RUN tools/build.sh first
CMD ["make", "train"]
