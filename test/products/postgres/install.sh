#!/bin/sh
# Installs PostgreSQL 18 from Debian, with psql, libpq-oauth and the headers for a validator, in a root of its own: sh install.sh FOLDER.
# Needs root, and debootstrap (apt-get install debootstrap). Debian 12 has only PostgreSQL 15.
set -eu
root=$1
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
debootstrap --variant=minbase --keyring="$keyring" --include=ca-certificates,postgresql-18,postgresql-client-18,libpq-oauth \
  forky "$root" http://deb.debian.org/debian /usr/share/debootstrap/scripts/sid
cp /etc/hosts /etc/resolv.conf "$root/etc/"
# Only their headers: the packages depend on a compiler.
chroot "$root" sh -c 'cd /tmp && apt-get download postgresql-server-dev-18 krb5-multidev && for each in *.deb; do dpkg-deb -x "$each" /; done'
touch "$root/.whole"
