# Two stages: the first has all build tools, the second only what the service needs to run. The image uses Debian 13 (trixie), because
# the newest native HTTP engine needs glibc 2.38 or newer. With an older glibc the service uses the slower node:http.
FROM node:24-trixie AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY tools/slim.mjs tools/
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src src
COPY ui ui
COPY workers workers
COPY bench bench
COPY packages packages
COPY tools tools
COPY migrations migrations
# The build has no access to the git repository, so pass the commit: docker build --build-arg COMMIT=$(git rev-parse --short=12 HEAD) .
ARG COMMIT=unknown
RUN BUILD_COMMIT="$COMMIT" npm run build && npm prune --omit=dev

FROM node:24-trixie-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/migrations migrations
COPY --from=build /app/dist/build.json dist/
COPY --from=build /app/dist/bin dist/bin
COPY --from=build /app/dist/ui dist/ui
# What agents of operators read (src/mcp/guides.ts).
COPY docs/operate/runbook.md docs/operate/troubleshooting.md docs/operate/
# Node 24 would reserve twice the memory for new objects that Node 20 does, without being faster here (docs/performance.md).
RUN printf '#!/bin/sh\nexec node --max-semi-space-size=16 /app/dist/bin/service.js "$@"\n' > /usr/local/bin/service \
  && chmod 755 /usr/local/bin/service && ln -s service /usr/local/bin/authserver \
  && install -d -o node -g node -m 700 /data
USER 1000
# From here the default paths data/service.db and data/keys are on the volume.
WORKDIR /
VOLUME /data
EXPOSE 9000 9001
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9000/livez').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["service"]
CMD ["serve"]
