# syntax=docker/dockerfile:1
# An image of the program clusterprofile: for a CronJob that runs "check", or a sidecar that keeps a kubeconfig true. Build it where the tarball
# of the package is (npm pack in a checkout makes it; it is not on npm yet):
#   docker build --file program.Dockerfile --tag registry.example.dev/clusterprofile:0.1.0 .
# Add the digest (@sha256:...) of each base image, so that every build uses the same ones. "check" and "credential" run plugins: copy those
# of your providers in, as Dockerfile does.

FROM node:24.21.0-bookworm-slim AS program
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends tini && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY clusterprofile-credentials-*.tgz ./
RUN npm install --omit=dev --ignore-scripts ./clusterprofile-credentials-*.tgz && rm ./*.tgz

# No shell and no package manager.
FROM gcr.io/distroless/cc-debian12:nonroot
# The first process has to clean up processes that a plugin leaves behind. Node does not do that.
COPY --from=program /usr/bin/tini-static /usr/bin/tini
# The plugins of this package begin with #!/usr/bin/env node.
COPY --from=program /usr/bin/env /usr/bin/env
COPY --from=program /usr/local/bin/node /usr/local/bin/node
COPY --from=program /app /app
ENV NODE_ENV=production HOME=/tmp PATH=/app/node_modules/.bin:/usr/local/bin:/usr/bin
WORKDIR /tmp
USER 65532:65532
ENTRYPOINT ["/usr/bin/tini", "--", "/app/node_modules/.bin/clusterprofile"]
CMD ["--help"]
