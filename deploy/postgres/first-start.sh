#!/bin/sh
# What the container of PostgreSQL runs when it makes its database.
set -eu
psql --username "$POSTGRES_USER" --set ON_ERROR_STOP=1 --file /roles.sql \
  --set owner="'$OWNER_PASSWORD'" --set server="'$SERVER_PASSWORD'" --set signer="'$SIGNER_PASSWORD'"
