-- Written by `npm run schema` from the migrations. Do not edit.

create table account_balances (
  chain text not null,
  address text not null,
  asset text not null,
  atoms numeric(78,0) not null,
  seen_height bigint not null,
  constraint account_balances_atoms_check CHECK ((atoms >= (0)::numeric)),
  constraint account_balances_pkey PRIMARY KEY (chain, address, asset)
);

create table account_logos (
  account_id uuid not null,
  name text not null,
  bytes bytea not null,
  constraint account_logos_bytes_check CHECK (((length(bytes) >= 1) AND (length(bytes) <= 65536))),
  constraint account_logos_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint account_logos_pkey PRIMARY KEY (account_id)
);
CREATE INDEX account_logos_name ON public.account_logos USING btree (name);

create table accounts (
  id uuid not null,
  name text not null,
  email text not null,
  mode text not null,
  currency text not null,
  accepts_late_funds boolean not null default false,
  tolerance_bps integer not null default 0,
  fee_bps integer,
  confirmation_rules jsonb not null default '[]'::jsonb,
  success_url text,
  cancel_url text,
  brand_name text,
  brand_logo text,
  brand_color text,
  offered_assets text[],
  contact text,
  terms_url text,
  privacy_url text,
  frame_origins text[] not null default '{}'::text[],
  sandbox_trouble text,
  sandbox_trouble_until timestamp with time zone,
  sandbox_mined_until timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  closed_at timestamp with time zone,
  constraint accounts_brand_color_check CHECK ((brand_color ~ '^#[0-9a-f]{6}$'::text)),
  constraint accounts_brand_logo_check CHECK ((brand_logo ~ '^[0-9a-f]{64}[.](png|jpg|webp)$'::text)),
  constraint accounts_brand_name_check CHECK (((length(brand_name) >= 1) AND (length(brand_name) <= 80))),
  constraint accounts_cancel_url_check CHECK ((length(cancel_url) <= 2048)),
  constraint accounts_check CHECK (((sandbox_trouble IS NULL) OR (mode = 'test'::text))),
  constraint accounts_check1 CHECK (((closed_at IS NULL) OR (id <> ALL (ARRAY['00000000-0000-0000-0000-000000000001'::uuid, '00000000-0000-0000-0000-000000000002'::uuid])))),
  constraint accounts_contact_check CHECK (((length(contact) >= 3) AND (length(contact) <= 2048))),
  constraint accounts_currency_check CHECK ((currency = ANY (ARRAY['USD'::text, 'EUR'::text, 'GBP'::text]))),
  constraint accounts_email_check CHECK (((length(email) >= 3) AND (length(email) <= 254))),
  constraint accounts_fee_bps_check CHECK (((fee_bps >= 0) AND (fee_bps <= 1000))),
  constraint accounts_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
  constraint accounts_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
  constraint accounts_offered_assets_check CHECK ((cardinality(offered_assets) > 0)),
  constraint accounts_privacy_url_check CHECK ((length(privacy_url) <= 2048)),
  constraint accounts_sandbox_trouble_check CHECK ((sandbox_trouble = ANY (ARRAY['no_rates'::text, 'dead_node'::text]))),
  constraint accounts_success_url_check CHECK ((length(success_url) <= 2048)),
  constraint accounts_terms_url_check CHECK ((length(terms_url) <= 2048)),
  constraint accounts_tolerance_bps_check CHECK (((tolerance_bps >= 0) AND (tolerance_bps <= 500))),
  constraint accounts_pkey PRIMARY KEY (id),
  constraint accounts_id_currency_key UNIQUE (id, currency)
);

create table address_spends (
  chain text not null,
  address text not null,
  block_height bigint not null,
  constraint address_spends_pkey PRIMARY KEY (chain, block_height, address)
);

create table addresses (
  chain text not null,
  lookup bytea not null,
  address text not null,
  branch smallint not null,
  position bigint not null,
  series text not null,
  mac bytea not null,
  account_id uuid,
  payment_id uuid,
  issued_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  withheld boolean not null default false,
  reserved_until timestamp with time zone,
  constraint addresses_branch_check CHECK ((branch = ANY (ARRAY[0, 1]))),
  constraint addresses_check CHECK (((payment_id IS NULL) = (issued_at IS NULL))),
  constraint addresses_mac_check CHECK ((length(mac) = 32)),
  constraint addresses_position_check CHECK (("position" >= 0)),
  constraint addresses_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint addresses_pkey PRIMARY KEY (lookup, chain),
  constraint addresses_chain_series_branch_position_key UNIQUE (chain, series, branch, "position")
);
CREATE INDEX addresses_by_payment ON public.addresses USING btree (account_id, payment_id) WHERE (payment_id IS NOT NULL);
CREATE INDEX addresses_fresh ON public.addresses USING btree (chain, series, branch, "position") WHERE ((issued_at IS NULL) AND (NOT withheld));
CREATE INDEX addresses_recent ON public.addresses USING btree (chain, issued_at) WHERE (issued_at IS NOT NULL);

create table alerts (
  id uuid not null,
  kind text not null,
  account_id uuid,
  subject text not null,
  message text not null,
  created_at timestamp with time zone not null default now(),
  acknowledged_at timestamp with time zone,
  acknowledged_by text,
  told_at timestamp with time zone,
  constraint alerts_check CHECK (((acknowledged_at IS NULL) = (acknowledged_by IS NULL))),
  constraint alerts_pkey PRIMARY KEY (id),
  constraint alerts_kind_subject_key UNIQUE (kind, subject)
);
CREATE INDEX alerts_created ON public.alerts USING btree (created_at DESC, id DESC);
CREATE INDEX alerts_open ON public.alerts USING btree (created_at DESC, id DESC) WHERE (acknowledged_at IS NULL);

create table allowed_addresses (
  account_id uuid not null,
  network text not null,
  address text not null,
  name text not null,
  added_at timestamp with time zone not null,
  usable_from timestamp with time zone not null,
  constraint allowed_addresses_network_check CHECK ((network = ANY (ARRAY['bitcoin'::text, 'litecoin'::text, 'ethereum'::text]))),
  constraint allowed_addresses_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint allowed_addresses_pkey PRIMARY KEY (account_id, network, address)
);

create table api_keys (
  account_id uuid not null,
  id uuid not null,
  name text not null,
  scopes text[] not null,
  key_hash bytea not null,
  key_tail text not null,
  created_at timestamp with time zone not null default now(),
  revoked_at timestamp with time zone,
  expires_at timestamp with time zone,
  allowed_networks text[] not null default '{}'::text[],
  last_used_at timestamp with time zone,
  made_by uuid,
  constraint api_keys_key_hash_check CHECK ((length(key_hash) = 32)),
  constraint api_keys_key_tail_check CHECK ((length(key_tail) = 4)),
  constraint api_keys_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
  constraint api_keys_scopes_check CHECK ((cardinality(scopes) > 0)),
  constraint api_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint api_keys_made_by_fkey FOREIGN KEY (made_by) REFERENCES users(id),
  constraint api_keys_pkey PRIMARY KEY (account_id, id)
);
CREATE UNIQUE INDEX api_keys_hash ON public.api_keys USING btree (key_hash);

create table api_requests (
  account_id uuid not null,
  id uuid not null,
  at timestamp with time zone not null,
  key_id uuid not null,
  request_id text not null,
  method text not null,
  path text not null,
  status smallint not null,
  duration_ms integer not null,
  reason text,
  address text not null,
  constraint api_requests_duration_ms_check CHECK ((duration_ms >= 0)),
  constraint api_requests_path_check CHECK ((length(path) <= 500)),
  constraint api_requests_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint api_requests_pkey PRIMARY KEY (account_id, id)
);
CREATE INDEX api_requests_age ON public.api_requests USING btree (at);
CREATE INDEX api_requests_by_payment ON public.api_requests USING btree (account_id, "substring"(path, 'pay_[0-9a-z]{26}'::text), id) WHERE ("substring"(path, 'pay_[0-9a-z]{26}'::text) IS NOT NULL);
CREATE INDEX api_requests_failed ON public.api_requests USING btree (account_id, id) WHERE ((status >= 500) AND (status <= 599));
CREATE INDEX api_requests_refused ON public.api_requests USING btree (account_id, id) WHERE ((status >= 400) AND (status <= 499));

create table approval_policies (
  account_id uuid not null,
  number integer not null,
  policy jsonb not null,
  since timestamp with time zone not null,
  constraint approval_policies_number_check CHECK ((number > 0)),
  constraint approval_policies_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint approval_policies_pkey PRIMARY KEY (account_id)
);

create table approval_requests (
  account_id uuid not null,
  id uuid not null,
  act text not null,
  withdrawal_id uuid,
  batch_id uuid,
  terms jsonb,
  asked_by text not null,
  needed smallint not null,
  valid_until timestamp with time zone not null,
  status text not null default 'open'::text,
  declined_by text,
  refused_reason text,
  created_at timestamp with time zone not null default now(),
  decided_at timestamp with time zone,
  told_at timestamp with time zone,
  constraint approval_requests_act_check CHECK ((act = ANY (ARRAY['withdrawal'::text, 'batch'::text, 'policy'::text, 'allow'::text, 'disallow'::text]))),
  constraint approval_requests_check CHECK (((act = 'withdrawal'::text) = (withdrawal_id IS NOT NULL))),
  constraint approval_requests_check1 CHECK (((act = 'batch'::text) = (batch_id IS NOT NULL))),
  constraint approval_requests_check2 CHECK (((act = ANY (ARRAY['policy'::text, 'allow'::text, 'disallow'::text])) = (terms IS NOT NULL))),
  constraint approval_requests_check3 CHECK (((status = 'open'::text) = (decided_at IS NULL))),
  constraint approval_requests_check4 CHECK (((status = 'declined'::text) = (declined_by IS NOT NULL))),
  constraint approval_requests_check5 CHECK (((status = 'refused'::text) = (refused_reason IS NOT NULL))),
  constraint approval_requests_needed_check CHECK (((needed >= 1) AND (needed <= 2))),
  constraint approval_requests_status_check CHECK ((status = ANY (ARRAY['open'::text, 'approved'::text, 'declined'::text, 'expired'::text, 'refused'::text]))),
  constraint approval_requests_account_id_batch_id_fkey FOREIGN KEY (account_id, batch_id) REFERENCES payout_batches(account_id, id),
  constraint approval_requests_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint approval_requests_account_id_withdrawal_id_fkey FOREIGN KEY (account_id, withdrawal_id) REFERENCES withdrawals(account_id, id),
  constraint approval_requests_pkey PRIMARY KEY (account_id, id)
);
CREATE UNIQUE INDEX approval_requests_batch ON public.approval_requests USING btree (account_id, batch_id) WHERE (batch_id IS NOT NULL);
CREATE INDEX approval_requests_changes ON public.approval_requests USING btree (decided_at) WHERE ((status = 'approved'::text) AND (act = ANY (ARRAY['policy'::text, 'allow'::text, 'disallow'::text])));
CREATE INDEX approval_requests_open ON public.approval_requests USING btree (valid_until) WHERE (status = 'open'::text);
CREATE UNIQUE INDEX approval_requests_policy ON public.approval_requests USING btree (account_id) WHERE ((act = 'policy'::text) AND (status = 'open'::text));
CREATE INDEX approval_requests_recent ON public.approval_requests USING btree (account_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX approval_requests_withdrawal ON public.approval_requests USING btree (account_id, withdrawal_id) WHERE (withdrawal_id IS NOT NULL);

create table approvals (
  account_id uuid not null,
  request_id uuid not null,
  user_id uuid not null,
  credential_id bytea not null,
  authenticator_data bytea not null,
  client_data bytea not null,
  signature bytea not null,
  created_at timestamp with time zone not null default now(),
  verdict text,
  constraint approvals_account_id_request_id_fkey FOREIGN KEY (account_id, request_id) REFERENCES approval_requests(account_id, id),
  constraint approvals_pkey PRIMARY KEY (account_id, request_id, user_id)
);
CREATE INDEX approvals_unjudged ON public.approvals USING btree (created_at) WHERE (verdict IS NULL);

create table audit_log (
  id uuid not null,
  at timestamp(3) with time zone not null default clock_timestamp(),
  account_id uuid,
  actor_kind text not null,
  actor_id text,
  actor_name text,
  address text,
  action text not null,
  subject text,
  before json,
  after json,
  place bigint,
  mac bytea,
  constraint audit_log_action_check CHECK ((action ~ '^[a-z_]+[.][a-z_]+$'::text)),
  constraint audit_log_actor_kind_check CHECK ((actor_kind = ANY (ARRAY['key'::text, 'user'::text, 'cli'::text, 'system'::text]))),
  constraint audit_log_check CHECK (((place IS NULL) = (mac IS NULL))),
  constraint audit_log_mac_check CHECK ((length(mac) = 32)),
  constraint audit_log_place_check CHECK ((place >= 1)),
  constraint audit_log_pkey PRIMARY KEY (id),
  constraint audit_log_place_key UNIQUE (place)
);
CREATE INDEX audit_log_backups ON public.audit_log USING btree (at) WHERE (action = 'backup.make'::text);
CREATE INDEX audit_log_by_account ON public.audit_log USING btree (account_id, at, id, actor_kind, action, subject);
CREATE INDEX audit_log_unchained ON public.audit_log USING btree (id) WHERE (place IS NULL);
CREATE TRIGGER audit_log_is_kept BEFORE TRUNCATE ON public.audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_log_stays BEFORE DELETE OR UPDATE ON public.audit_log FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();

create table balances (
  account_id uuid not null,
  asset text not null,
  kind text not null,
  chain text not null,
  atoms numeric(78,0) not null,
  constraint balances_asset_check CHECK ((asset = ANY (ARRAY['BTC'::text, 'LTC'::text, 'ETH'::text, 'USDC'::text, 'USDT'::text]))),
  constraint balances_atoms_check CHECK ((atoms >= (0)::numeric)),
  constraint balances_kind_check CHECK ((kind = ANY (ARRAY['available'::text, 'held'::text, 'unresolved'::text]))),
  constraint balances_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint balances_pkey PRIMARY KEY (account_id, asset, kind)
);

create table chain_blocks (
  chain text not null,
  height bigint not null,
  hash text not null,
  parent_hash text not null,
  block_time timestamp with time zone not null,
  constraint chain_blocks_height_check CHECK ((height >= 0)),
  constraint chain_blocks_chain_fkey FOREIGN KEY (chain) REFERENCES chains(chain),
  constraint chain_blocks_pkey PRIMARY KEY (chain, height)
);

create table chains (
  chain text not null,
  native_asset text not null,
  identity text not null,
  tip_height bigint not null,
  tip_hash text not null,
  tip_time timestamp with time zone not null,
  polled_at timestamp with time zone,
  halted_reason text,
  lease_holder text,
  lease_epoch bigint not null default 0,
  lease_until timestamp with time zone,
  capital_height bigint not null default '-1'::integer,
  ether_checked_at timestamp with time zone,
  ether_asked_at timestamp with time zone,
  ether_begun_at timestamp with time zone,
  ether_after_issued_at timestamp with time zone,
  ether_after_lookup bytea,
  constraint chains_chain_check CHECK ((chain = ANY (ARRAY['bitcoin'::text, 'litecoin'::text, 'ethereum'::text, 'sim-bitcoin'::text, 'sim-litecoin'::text, 'sim-ethereum'::text]))),
  constraint chains_check CHECK (((ether_after_issued_at IS NULL) = (ether_after_lookup IS NULL))),
  constraint chains_check1 CHECK (((ether_begun_at IS NOT NULL) OR (ether_after_lookup IS NULL))),
  constraint chains_native_asset_check CHECK ((native_asset = ANY (ARRAY['BTC'::text, 'LTC'::text, 'ETH'::text]))),
  constraint chains_tip_height_check CHECK ((tip_height >= 0)),
  constraint chains_pkey PRIMARY KEY (chain)
);

create table checkout_sessions (
  account_id uuid not null,
  id uuid not null,
  amount_minor bigint,
  currency text not null,
  label text,
  reference text,
  customer_email text,
  success_url text,
  cancel_url text,
  offered_assets text[],
  refund_address text,
  refund_address_mac bytea,
  payment_link_id uuid,
  point_of_sale_id uuid,
  payment_id uuid,
  sent_tx text,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  cancelled_at timestamp with time zone,
  constraint checkout_sessions_amount_minor_check CHECK ((amount_minor > 0)),
  constraint checkout_sessions_cancel_url_check CHECK ((length(cancel_url) <= 2048)),
  constraint checkout_sessions_check CHECK (((refund_address IS NULL) = (refund_address_mac IS NULL))),
  constraint checkout_sessions_currency_check CHECK ((currency = ANY (ARRAY['USD'::text, 'EUR'::text, 'GBP'::text]))),
  constraint checkout_sessions_customer_email_check CHECK (((length(customer_email) >= 3) AND (length(customer_email) <= 254))),
  constraint checkout_sessions_label_check CHECK ((length(label) <= 255)),
  constraint checkout_sessions_offered_assets_check CHECK ((cardinality(offered_assets) > 0)),
  constraint checkout_sessions_reference_check CHECK ((length(reference) <= 255)),
  constraint checkout_sessions_refund_address_check CHECK (((length(refund_address) >= 1) AND (length(refund_address) <= 128))),
  constraint checkout_sessions_refund_address_mac_check CHECK ((length(refund_address_mac) = 32)),
  constraint checkout_sessions_sent_tx_check CHECK ((sent_tx ~ '^(0x)?[0-9a-f]{64}$'::text)),
  constraint checkout_sessions_success_url_check CHECK ((length(success_url) <= 2048)),
  constraint checkout_sessions_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint checkout_sessions_account_id_payment_id_fkey FOREIGN KEY (account_id, payment_id) REFERENCES payments(account_id, id),
  constraint checkout_sessions_account_id_payment_link_id_fkey FOREIGN KEY (account_id, payment_link_id) REFERENCES payment_links(account_id, id),
  constraint checkout_sessions_account_id_point_of_sale_id_fkey FOREIGN KEY (account_id, point_of_sale_id) REFERENCES points_of_sale(account_id, id),
  constraint checkout_sessions_pkey PRIMARY KEY (account_id, id)
);
CREATE UNIQUE INDEX checkout_sessions_id ON public.checkout_sessions USING btree (id);
CREATE INDEX checkout_sessions_sold ON public.checkout_sessions USING btree (point_of_sale_id, created_at DESC) WHERE (point_of_sale_id IS NOT NULL);
CREATE INDEX checkout_sessions_unused ON public.checkout_sessions USING btree (expires_at) WHERE (payment_id IS NULL);

create table closed_days (
  day date not null,
  closed_at timestamp with time zone not null default now(),
  constraint closed_days_pkey PRIMARY KEY (day)
);

create table customer_counts (
  account_id uuid not null,
  slot smallint not null,
  customers bigint not null,
  constraint customer_counts_pkey PRIMARY KEY (account_id, slot)
);

create table customers (
  account_id uuid not null,
  id uuid not null,
  email text not null,
  name text,
  created_at timestamp with time zone not null default now(),
  order_count integer not null default 0,
  total_spent_minor bigint not null default 0,
  constraint customers_email_check CHECK (((length(email) >= 3) AND (length(email) <= 254))),
  constraint customers_order_count_check CHECK ((order_count >= 0)),
  constraint customers_total_spent_minor_check CHECK ((total_spent_minor >= 0)),
  constraint customers_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint customers_pkey PRIMARY KEY (account_id, id)
);
CREATE INDEX customers_created ON public.customers USING btree (account_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX customers_email ON public.customers USING btree (account_id, lower(email)) INCLUDE (email, id);
CREATE INDEX customers_email_part ON public.customers USING gin (lower(email) gin_trgm_ops) WITH (gin_pending_list_limit='1024');
CREATE INDEX customers_orders ON public.customers USING btree (account_id, order_count, created_at, id);
CREATE INDEX customers_spent ON public.customers USING btree (account_id, total_spent_minor, created_at, id);
CREATE CONSTRAINT TRIGGER customers_counted AFTER INSERT OR DELETE ON public.customers DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION count_customer();

create table daily_balances (
  account_id uuid not null,
  currency text not null,
  day date not null,
  available_minor bigint not null,
  pending_minor bigint not null,
  constraint daily_balances_available_minor_check CHECK ((available_minor >= 0)),
  constraint daily_balances_currency_check CHECK ((currency = ANY (ARRAY['USD'::text, 'EUR'::text, 'GBP'::text]))),
  constraint daily_balances_pending_minor_check CHECK ((pending_minor >= 0)),
  constraint daily_balances_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint daily_balances_pkey PRIMARY KEY (account_id, currency, day) INCLUDE (available_minor, pending_minor)
);

create table daily_payments (
  account_id uuid not null,
  day date not null,
  asset text not null,
  status text not null,
  payments bigint not null,
  constraint daily_payments_payments_check CHECK ((payments >= 0)),
  constraint daily_payments_account_id_fkey FOREIGN KEY (account_id) REFERENCES payment_ranks(account_id),
  constraint daily_payments_pkey PRIMARY KEY (account_id, day, asset, status)
);

create table daily_rates (
  mode text not null,
  day date not null,
  asset text not null,
  fiat text not null,
  numerator numeric(78,0) not null,
  denominator numeric(78,0) not null,
  source text not null,
  at timestamp with time zone not null,
  constraint daily_rates_asset_check CHECK ((asset = ANY (ARRAY['BTC'::text, 'LTC'::text, 'ETH'::text, 'USDC'::text, 'USDT'::text]))),
  constraint daily_rates_denominator_check CHECK ((denominator > (0)::numeric)),
  constraint daily_rates_fiat_check CHECK ((fiat = ANY (ARRAY['USD'::text, 'EUR'::text, 'GBP'::text]))),
  constraint daily_rates_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
  constraint daily_rates_numerator_check CHECK ((numerator > (0)::numeric)),
  constraint daily_rates_pkey PRIMARY KEY (mode, day, asset, fiat)
);

create table deliveries (
  account_id uuid not null,
  id uuid not null,
  event_id uuid not null,
  endpoint_id uuid not null,
  status text not null,
  attempts integer not null default 0,
  attempts_before integer not null default 0,
  due_at timestamp with time zone,
  leased_until timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  constraint deliveries_attempts_check CHECK ((attempts >= 0)),
  constraint deliveries_check CHECK (((attempts_before >= 0) AND (attempts_before <= attempts))),
  constraint deliveries_check1 CHECK (((status = 'pending'::text) = (due_at IS NOT NULL))),
  constraint deliveries_check2 CHECK (((leased_until IS NULL) OR (status = 'pending'::text))),
  constraint deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text, 'cancelled'::text]))),
  constraint deliveries_account_id_endpoint_id_fkey FOREIGN KEY (account_id, endpoint_id) REFERENCES webhook_endpoints(account_id, id),
  constraint deliveries_account_id_event_id_fkey FOREIGN KEY (account_id, event_id) REFERENCES events(account_id, id),
  constraint deliveries_pkey PRIMARY KEY (account_id, id),
  constraint deliveries_event_id_account_id_endpoint_id_key UNIQUE (event_id, account_id, endpoint_id)
);
CREATE INDEX deliveries_by_endpoint ON public.deliveries USING btree (account_id, endpoint_id, id DESC);
CREATE INDEX deliveries_cancelled ON public.deliveries USING btree (account_id, endpoint_id, id DESC) WHERE (status = 'cancelled'::text);
CREATE INDEX deliveries_ill ON public.deliveries USING btree (created_at DESC, id DESC, status) WHERE ((status = 'failed'::text) OR ((status = 'pending'::text) AND (attempts > attempts_before)));
CREATE INDEX deliveries_ill_by_account ON public.deliveries USING btree (account_id, created_at DESC, id DESC, endpoint_id, status) WHERE ((status = 'failed'::text) OR ((status = 'pending'::text) AND (attempts > attempts_before)));
CREATE INDEX deliveries_queue ON public.deliveries USING btree (account_id, endpoint_id, due_at, id) WHERE (status = 'pending'::text);

create table delivery_attempts (
  account_id uuid not null,
  delivery_id uuid not null,
  number integer not null,
  started_at timestamp with time zone not null,
  duration_ms integer not null,
  response_status integer,
  response_start text,
  error text,
  constraint delivery_attempts_duration_ms_check CHECK ((duration_ms >= 0)),
  constraint delivery_attempts_number_check CHECK ((number > 0)),
  constraint delivery_attempts_account_id_delivery_id_fkey FOREIGN KEY (account_id, delivery_id) REFERENCES deliveries(account_id, id) ON DELETE CASCADE,
  constraint delivery_attempts_pkey PRIMARY KEY (account_id, delivery_id, number)
);

create table delivery_totals (
  result text not null,
  attempts bigint not null,
  duration_ms bigint not null,
  constraint delivery_totals_pkey PRIMARY KEY (result)
);

create table deposit_inputs (
  chain text not null,
  spent_tx text not null,
  spent_index bigint not null,
  tx_key text not null,
  constraint deposit_inputs_pkey PRIMARY KEY (chain, spent_tx, spent_index, tx_key)
);
CREATE INDEX deposit_inputs_tx ON public.deposit_inputs USING btree (chain, tx_key);

create table deposits (
  account_id uuid not null,
  id uuid not null,
  payment_id uuid not null,
  chain text not null,
  asset text not null,
  tx_key text not null,
  tx_hash text,
  output_index integer not null,
  address text not null,
  amount_atoms numeric(78,0) not null,
  status text not null,
  block_height bigint,
  block_hash text,
  required_confirmations integer not null,
  seen_at timestamp with time zone not null,
  late boolean not null,
  sighted_minor bigint,
  dust boolean not null,
  replaced_by text,
  replaced_height bigint,
  missing_since timestamp with time zone,
  mac bytea not null,
  bookings integer not null default 0,
  booked boolean not null default false,
  sweep uuid,
  constraint deposits_amount_atoms_check CHECK ((amount_atoms > (0)::numeric)),
  constraint deposits_asset_check CHECK ((asset = ANY (ARRAY['BTC'::text, 'LTC'::text, 'ETH'::text, 'USDC'::text, 'USDT'::text]))),
  constraint deposits_bookings_check CHECK ((bookings >= 0)),
  constraint deposits_check CHECK (((block_height IS NULL) = (block_hash IS NULL))),
  constraint deposits_check1 CHECK ((NOT (booked AND dust))),
  constraint deposits_check2 CHECK (((status <> 'confirmed'::text) OR (block_height IS NOT NULL))),
  constraint deposits_check3 CHECK ((booked OR (sweep IS NULL))),
  constraint deposits_mac_check CHECK ((length(mac) = 32)),
  constraint deposits_required_confirmations_check CHECK ((required_confirmations >= 0)),
  constraint deposits_sighted_minor_check CHECK ((sighted_minor >= 0)),
  constraint deposits_status_check CHECK ((status = ANY (ARRAY['seen'::text, 'confirmed'::text, 'replaced'::text, 'reorganised'::text, 'dropped'::text]))),
  constraint deposits_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint deposits_account_id_payment_id_fkey FOREIGN KEY (account_id, payment_id) REFERENCES payments(account_id, id),
  constraint deposits_chain_sweep_fkey FOREIGN KEY (chain, sweep) REFERENCES sweeps(chain, id) ON DELETE SET NULL (sweep),
  constraint deposits_pkey PRIMARY KEY (account_id, id)
);
CREATE INDEX deposits_by_address ON public.deposits USING btree (chain, address);
CREATE INDEX deposits_by_block ON public.deposits USING btree (chain, block_height) WHERE (block_height IS NOT NULL);
CREATE INDEX deposits_by_payment ON public.deposits USING btree (account_id, payment_id, seen_at);
CREATE INDEX deposits_by_replacement ON public.deposits USING btree (chain, replaced_height) WHERE (replaced_height IS NOT NULL);
CREATE INDEX deposits_by_sweep ON public.deposits USING btree (chain, sweep) WHERE (sweep IS NOT NULL);
CREATE INDEX deposits_confirming ON public.deposits USING btree (chain, block_height) WHERE ((status = 'seen'::text) AND (block_height IS NOT NULL));
CREATE INDEX deposits_in_no_block ON public.deposits USING btree (chain) WHERE ((block_height IS NULL) AND (status = ANY (ARRAY['seen'::text, 'reorganised'::text, 'dropped'::text])));
CREATE UNIQUE INDEX deposits_output ON public.deposits USING btree (chain, tx_key, output_index, address, asset, amount_atoms);
CREATE UNIQUE INDEX deposits_output_shown ON public.deposits USING btree (chain, tx_key, output_index) WHERE (status = ANY (ARRAY['seen'::text, 'confirmed'::text]));
CREATE INDEX deposits_pending ON public.deposits USING btree (account_id, asset) INCLUDE (amount_atoms) WHERE ((NOT booked) AND (NOT dust) AND (status = ANY (ARRAY['seen'::text, 'confirmed'::text])));
CREATE INDEX deposits_unlike_books ON public.deposits USING btree (chain) INCLUDE (asset, amount_atoms, block_height, dust) WHERE ((block_height IS NULL) = booked);
CREATE INDEX deposits_unswept ON public.deposits USING btree (chain, asset, amount_atoms DESC) WHERE (booked AND (sweep IS NULL) AND (asset = ANY (ARRAY['ETH'::text, 'USDC'::text, 'USDT'::text])));

create table events (
  account_id uuid not null,
  id uuid not null,
  type text not null,
  cause text not null,
  body text not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint events_type_check CHECK ((type = ANY (ARRAY['payment.created'::text, 'payment.confirming'::text, 'payment.completed'::text, 'payment.expired'::text, 'payment.refunded'::text, 'payout.completed'::text, 'payout.failed'::text]))),
  constraint events_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint events_pkey PRIMARY KEY (account_id, id),
  constraint events_account_id_cause_key UNIQUE (account_id, cause)
);
CREATE INDEX events_age ON public.events USING btree (created_at);
CREATE INDEX events_replay ON public.events USING btree (account_id, created_at, id);
CREATE INDEX events_seldom ON public.events USING btree (account_id, type, created_at, id) WHERE (type = ANY (ARRAY['payment.expired'::text, 'payment.refunded'::text, 'payout.completed'::text, 'payout.failed'::text]));

create table fee_rates (
  chain text not null,
  rate numeric(78,0) not null,
  priority_rate numeric(78,0) not null,
  fork text,
  seen_at timestamp with time zone not null,
  constraint fee_rates_priority_rate_check CHECK ((priority_rate >= (0)::numeric)),
  constraint fee_rates_rate_check CHECK ((rate > (0)::numeric)),
  constraint fee_rates_pkey PRIMARY KEY (chain)
);

create table freezes (
  chain text not null,
  asset text not null,
  reason text not null,
  frozen_at timestamp with time zone not null default now(),
  constraint freezes_pkey PRIMARY KEY (chain, asset)
);

create table gas_funding (
  chain text not null,
  txid text not null,
  address text not null,
  atoms numeric(78,0) not null,
  block_height bigint not null,
  sweep uuid,
  constraint gas_funding_atoms_check CHECK ((atoms > (0)::numeric)),
  constraint gas_funding_chain_sweep_fkey FOREIGN KEY (chain, sweep) REFERENCES sweeps(chain, id) ON DELETE SET NULL (sweep),
  constraint gas_funding_pkey PRIMARY KEY (chain, txid, address)
);
CREATE INDEX gas_funding_by_address ON public.gas_funding USING btree (chain, address);
CREATE INDEX gas_funding_by_block ON public.gas_funding USING btree (chain, block_height);
CREATE INDEX gas_funding_by_sweep ON public.gas_funding USING btree (chain, sweep) WHERE (sweep IS NOT NULL);
CREATE INDEX gas_funding_left ON public.gas_funding USING btree (chain, atoms DESC) WHERE (sweep IS NULL);

create table idempotency_keys (
  account_id uuid not null,
  key text not null,
  request_hash bytea not null,
  response_status integer,
  response_body bytea,
  is_final boolean not null default true,
  created_at timestamp with time zone not null default now(),
  constraint idempotency_keys_key_check CHECK (((length(key) >= 1) AND (length(key) <= 255))),
  constraint idempotency_keys_request_hash_check CHECK ((length(request_hash) = 32)),
  constraint idempotency_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint idempotency_keys_pkey PRIMARY KEY (account_id, key)
);
CREATE INDEX idempotency_keys_age ON public.idempotency_keys USING btree (created_at);

create table invitations (
  id uuid not null,
  token_hash bytea not null,
  kind text not null,
  email text,
  merchant_id uuid,
  role text,
  makes_operator boolean not null default false,
  user_id uuid,
  invited_by uuid,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  used_at timestamp with time zone,
  constraint invitations_check CHECK (((kind = 'reset'::text) = (user_id IS NOT NULL))),
  constraint invitations_check1 CHECK (((merchant_id IS NULL) = (role IS NULL))),
  constraint invitations_email_check CHECK (((length(email) >= 3) AND (length(email) <= 254))),
  constraint invitations_kind_check CHECK ((kind = ANY (ARRAY['first'::text, 'invite'::text, 'reset'::text]))),
  constraint invitations_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'developer'::text, 'support'::text, 'finance'::text, 'viewer'::text]))),
  constraint invitations_token_hash_check CHECK ((length(token_hash) = 32)),
  constraint invitations_invited_by_fkey FOREIGN KEY (invited_by) REFERENCES users(id),
  constraint invitations_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES merchants(id),
  constraint invitations_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint invitations_pkey PRIMARY KEY (id),
  constraint invitations_token_hash_key UNIQUE (token_hash)
);
CREATE INDEX invitations_by_merchant ON public.invitations USING btree (merchant_id, created_at) WHERE (used_at IS NULL);

create table journal_entries (
  account_id uuid not null,
  id uuid not null,
  kind text not null,
  subject_id text not null,
  number integer not null,
  created_at timestamp with time zone not null default now(),
  constraint journal_entries_check CHECK (((kind <> ALL (ARRAY['network_fee'::text, 'spend'::text, 'capital'::text])) OR (account_id = '00000000-0000-0000-0000-000000000000'::uuid))),
  constraint journal_entries_kind_check CHECK ((kind = ANY (ARRAY['deposit'::text, 'deposit_reversal'::text, 'settlement'::text, 'settlement_reversal'::text, 'acceptance'::text, 'hold'::text, 'release'::text, 'completion'::text, 'completion_reversal'::text, 'paid_after_failure'::text, 'loss_return'::text, 'network_fee'::text, 'spend'::text, 'capital'::text]))),
  constraint journal_entries_pkey PRIMARY KEY (account_id, id),
  constraint journal_entries_account_id_kind_subject_id_number_key UNIQUE (account_id, kind, subject_id, number)
);

create table mails (
  id uuid not null,
  cause text not null,
  recipient text not null,
  kind text not null,
  status text not null default 'queued'::text,
  content_sealed bytea,
  attempts integer not null default 0,
  next_attempt_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  trouble text,
  created_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  constraint mails_attempts_check CHECK ((attempts >= 0)),
  constraint mails_cause_check CHECK (((length(cause) >= 1) AND (length(cause) <= 200))),
  constraint mails_check CHECK (((status = 'queued'::text) = (content_sealed IS NOT NULL))),
  constraint mails_check1 CHECK (((status = 'queued'::text) = (finished_at IS NULL))),
  constraint mails_kind_check CHECK ((kind = ANY (ARRAY['invitation'::text, 'reset'::text, 'lockout'::text, 'notice'::text, 'alert'::text, 'receipt'::text, 'decision'::text, 'paid'::text]))),
  constraint mails_recipient_check CHECK (((length(recipient) >= 3) AND (length(recipient) <= 254))),
  constraint mails_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'sent'::text, 'refused'::text, 'given_up'::text]))),
  constraint mails_trouble_check CHECK ((length(trouble) <= 300)),
  constraint mails_pkey PRIMARY KEY (id),
  constraint mails_cause_recipient_key UNIQUE (cause, recipient)
);
CREATE INDEX mails_counted ON public.mails USING btree (lower(recipient), kind, created_at) WHERE (kind = ANY (ARRAY['receipt'::text, 'decision'::text, 'paid'::text]));
CREATE INDEX mails_due ON public.mails USING btree (next_attempt_at) WHERE (status = 'queued'::text);
CREATE INDEX mails_finished ON public.mails USING btree (finished_at) WHERE (status <> 'queued'::text);

create table members (
  merchant_id uuid not null,
  user_id uuid not null,
  role text not null,
  payment_mails text[] not null default '{decision}'::text[],
  created_at timestamp with time zone not null default now(),
  constraint members_payment_mails_check CHECK ((payment_mails <@ ARRAY['decision'::text, 'paid'::text])),
  constraint members_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'developer'::text, 'support'::text, 'finance'::text, 'viewer'::text]))),
  constraint members_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES merchants(id),
  constraint members_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint members_pkey PRIMARY KEY (merchant_id, user_id)
);
CREATE INDEX members_by_user ON public.members USING btree (user_id);

create table merchants (
  id uuid not null,
  name text not null,
  live_account_id uuid,
  test_account_id uuid,
  refund_bound_minor bigint not null default 10000,
  time_zone text not null default 'UTC'::text,
  created_at timestamp with time zone not null default now(),
  constraint merchants_check CHECK (((live_account_id IS NOT NULL) OR (test_account_id IS NOT NULL))),
  constraint merchants_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
  constraint merchants_refund_bound_minor_check CHECK ((refund_bound_minor >= 0)),
  constraint merchants_time_zone_check CHECK (((length(time_zone) >= 1) AND (length(time_zone) <= 60))),
  constraint merchants_live_account_id_fkey FOREIGN KEY (live_account_id) REFERENCES accounts(id),
  constraint merchants_test_account_id_fkey FOREIGN KEY (test_account_id) REFERENCES accounts(id),
  constraint merchants_pkey PRIMARY KEY (id),
  constraint merchants_live_account_id_key UNIQUE (live_account_id),
  constraint merchants_test_account_id_key UNIQUE (test_account_id)
);

create table nonces (
  chain text not null,
  sender text not null,
  next bigint not null,
  constraint nonces_next_check CHECK ((next >= 0)),
  constraint nonces_pkey PRIMARY KEY (chain, sender)
);

create table notes (
  account_id uuid not null,
  id uuid not null,
  subject_kind text not null,
  subject_id uuid not null,
  text text not null,
  user_id uuid not null,
  created_at timestamp with time zone not null default now(),
  constraint notes_subject_kind_check CHECK ((subject_kind = ANY (ARRAY['payment'::text, 'customer'::text]))),
  constraint notes_text_check CHECK (((length(text) >= 1) AND (length(text) <= 2000))),
  constraint notes_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint notes_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint notes_pkey PRIMARY KEY (account_id, id)
);
CREATE INDEX notes_by_subject ON public.notes USING btree (account_id, subject_id, id);

create table passkeys (
  user_id uuid not null,
  id uuid not null,
  credential_id bytea not null,
  public_key bytea not null,
  counter bigint not null,
  transports text[] not null default '{}'::text[],
  name text not null,
  created_at timestamp with time zone not null default now(),
  used_at timestamp with time zone,
  constraint passkeys_counter_check CHECK ((counter >= 0)),
  constraint passkeys_name_check CHECK (((length(name) >= 1) AND (length(name) <= 120))),
  constraint passkeys_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint passkeys_pkey PRIMARY KEY (user_id, id),
  constraint passkeys_credential_id_key UNIQUE (credential_id)
);

create table payment_changes (
  account_id uuid not null,
  payment_id uuid not null,
  created_at timestamp with time zone not null,
  asset text not null,
  old_status text not null,
  new_status text not null,
  old_net_minor bigint not null,
  new_net_minor bigint not null,
  noted_at timestamp with time zone not null default now()
);
CREATE INDEX payment_changes_made ON public.payment_changes USING btree (account_id, created_at);

create table payment_counts (
  account_id uuid not null,
  asset text not null,
  status text not null,
  slot smallint not null,
  payments bigint not null,
  constraint payment_counts_pkey PRIMARY KEY (account_id, asset, status, slot)
);

create table payment_grid_counts (
  account_id uuid not null,
  generation integer not null,
  mark integer not null,
  asset text not null,
  status text not null,
  upto integer[] not null,
  constraint payment_grid_counts_upto_check CHECK ((0 <= ALL (upto))),
  constraint payment_grid_counts_account_id_generation_fkey FOREIGN KEY (account_id, generation) REFERENCES payment_grids(account_id, generation),
  constraint payment_grid_counts_pkey PRIMARY KEY (account_id, generation, mark, asset, status)
);

create table payment_grids (
  account_id uuid not null,
  generation integer not null,
  rungs integer not null,
  marks timestamp with time zone[] not null default '{}'::timestamp with time zone[],
  net_minors bigint[] not null,
  created_ats timestamp with time zone[] not null,
  ids uuid[] not null,
  is_due boolean not null default true,
  is_whole boolean not null default false,
  constraint payment_grids_account_id_fkey FOREIGN KEY (account_id) REFERENCES payment_ranks(account_id),
  constraint payment_grids_pkey PRIMARY KEY (account_id, generation)
);

create table payment_links (
  account_id uuid not null,
  id uuid not null,
  label text not null,
  amount_minor bigint not null,
  currency text not null,
  uses bigint not null default 0,
  is_active boolean not null default true,
  created_at timestamp with time zone not null default now(),
  constraint payment_links_amount_minor_check CHECK ((amount_minor > 0)),
  constraint payment_links_currency_check CHECK ((currency = ANY (ARRAY['USD'::text, 'EUR'::text, 'GBP'::text]))),
  constraint payment_links_label_check CHECK (((length(label) >= 1) AND (length(label) <= 255))),
  constraint payment_links_uses_check CHECK ((uses >= 0)),
  constraint payment_links_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint payment_links_pkey PRIMARY KEY (account_id, id)
);
CREATE INDEX payment_links_created ON public.payment_links USING btree (account_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX payment_links_id ON public.payment_links USING btree (id);

create table payment_ranks (
  account_id uuid not null,
  made_before timestamp with time zone not null default '-infinity'::timestamp with time zone,
  constraint payment_ranks_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint payment_ranks_pkey PRIMARY KEY (account_id)
);

create table payment_rungs (
  account_id uuid not null,
  sort text not null,
  net_minor bigint not null,
  created_at timestamp with time zone not null,
  id uuid not null,
  asset text not null,
  status text not null,
  payments bigint not null,
  constraint payment_rungs_payments_check CHECK ((payments >= 0)),
  constraint payment_rungs_sort_check CHECK ((sort = ANY (ARRAY['total'::text, 'id'::text]))),
  constraint payment_rungs_account_id_fkey FOREIGN KEY (account_id) REFERENCES payment_ranks(account_id),
  constraint payment_rungs_pkey PRIMARY KEY (account_id, sort, net_minor, created_at, id, asset, status)
);

create table payments (
  account_id uuid not null,
  id uuid not null,
  status text not null,
  chain text not null,
  asset text not null,
  fiat_currency text not null,
  fiat_minor bigint not null,
  fee_minor bigint not null,
  net_minor bigint not null,
  quoted_fee_minor bigint not null,
  fee_bps integer not null,
  rate_numerator numeric(78,0) not null,
  rate_denominator numeric(78,0) not null,
  rate_source text not null,
  rate_at timestamp with time zone not null,
  settlement_numerator numeric(78,0) not null,
  settlement_denominator numeric(78,0) not null,
  settlement_currency text not null,
  due_atoms numeric(78,0) not null,
  tolerated_atoms numeric(78,0) not null default 0,
  address text not null,
  required_confirmations integer not null,
  terms_mac bytea not null,
  customer_id uuid,
  customer_email text,
  reference text,
  metadata json,
  checkout_session_id uuid,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  detected_at timestamp with time zone,
  completed_at timestamp with time zone,
  credited_atoms numeric(78,0),
  gateway_fee_atoms numeric(78,0),
  shortfall_atoms numeric(78,0) not null default 0,
  recovered_atoms numeric(78,0) not null default 0,
  accepted_net_atoms numeric(78,0),
  accepted_fee_atoms numeric(78,0),
  accepted_net_minor bigint,
  accepted_fee_minor bigint,
  spent_minor bigint,
  settlements integer not null default 0,
  decision_due boolean not null default false,
  constraint payments_accepted_fee_atoms_check CHECK ((accepted_fee_atoms >= (0)::numeric)),
  constraint payments_accepted_fee_minor_check CHECK ((accepted_fee_minor >= 0)),
  constraint payments_accepted_net_atoms_check CHECK ((accepted_net_atoms >= (0)::numeric)),
  constraint payments_accepted_net_minor_check CHECK ((accepted_net_minor >= 0)),
  constraint payments_asset_check CHECK ((asset = ANY (ARRAY['BTC'::text, 'LTC'::text, 'ETH'::text, 'USDC'::text, 'USDT'::text]))),
  constraint payments_check CHECK (((quoted_fee_minor >= 0) AND (quoted_fee_minor <= fiat_minor))),
  constraint payments_check1 CHECK ((tolerated_atoms < due_atoms)),
  constraint payments_check2 CHECK ((((net_minor + fee_minor) = fiat_minor) OR (status = ANY (ARRAY['completed'::text, 'overpaid'::text])))),
  constraint payments_check3 CHECK (((credited_atoms IS NULL) = (gateway_fee_atoms IS NULL))),
  constraint payments_check4 CHECK ((num_nulls(accepted_net_atoms, accepted_fee_atoms, accepted_net_minor, accepted_fee_minor) = ANY (ARRAY[0, 4]))),
  constraint payments_check5 CHECK (((status <> ALL (ARRAY['completed'::text, 'overpaid'::text])) OR ((completed_at IS NOT NULL) AND (credited_atoms IS NOT NULL)))),
  constraint payments_check6 CHECK (((status <> ALL (ARRAY['pending'::text, 'expired'::text, 'cancelled'::text])) OR (credited_atoms IS NULL))),
  constraint payments_credited_atoms_check CHECK ((credited_atoms >= (0)::numeric)),
  constraint payments_due_atoms_check CHECK ((due_atoms > (0)::numeric)),
  constraint payments_fee_bps_check CHECK (((fee_bps >= 0) AND (fee_bps <= 10000))),
  constraint payments_fee_minor_check CHECK ((fee_minor >= 0)),
  constraint payments_fiat_currency_check CHECK ((fiat_currency = ANY (ARRAY['USD'::text, 'EUR'::text, 'GBP'::text]))),
  constraint payments_fiat_minor_check CHECK ((fiat_minor > 0)),
  constraint payments_gateway_fee_atoms_check CHECK ((gateway_fee_atoms >= (0)::numeric)),
  constraint payments_net_minor_check CHECK ((net_minor >= 0)),
  constraint payments_rate_denominator_check CHECK ((rate_denominator > (0)::numeric)),
  constraint payments_rate_numerator_check CHECK ((rate_numerator > (0)::numeric)),
  constraint payments_recovered_atoms_check CHECK ((recovered_atoms >= (0)::numeric)),
  constraint payments_reference_check CHECK ((length(reference) <= 255)),
  constraint payments_required_confirmations_check CHECK ((required_confirmations >= 0)),
  constraint payments_settlement_denominator_check CHECK ((settlement_denominator > (0)::numeric)),
  constraint payments_settlement_numerator_check CHECK ((settlement_numerator > (0)::numeric)),
  constraint payments_settlements_check CHECK ((settlements >= 0)),
  constraint payments_shortfall_atoms_check CHECK ((shortfall_atoms >= (0)::numeric)),
  constraint payments_spent_minor_check CHECK ((spent_minor >= 0)),
  constraint payments_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'detected'::text, 'completed'::text, 'overpaid'::text, 'underpaid'::text, 'expired'::text, 'failed'::text, 'cancelled'::text]))),
  constraint payments_terms_mac_check CHECK ((length(terms_mac) = 32)),
  constraint payments_tolerated_atoms_check CHECK ((tolerated_atoms >= (0)::numeric)),
  constraint payments_account_id_customer_id_fkey FOREIGN KEY (account_id, customer_id) REFERENCES customers(account_id, id),
  constraint payments_account_id_settlement_currency_fkey FOREIGN KEY (account_id, settlement_currency) REFERENCES accounts(id, currency),
  constraint payments_pkey PRIMARY KEY (account_id, id)
);
CREATE INDEX payments_asset ON public.payments USING btree (account_id, asset, created_at, id) INCLUDE (status);
CREATE INDEX payments_checkout ON public.payments USING btree (account_id, checkout_session_id) WHERE (checkout_session_id IS NOT NULL);
CREATE INDEX payments_created ON public.payments USING btree (account_id, created_at, id);
CREATE INDEX payments_customer ON public.payments USING btree (account_id, customer_id, created_at DESC) WHERE (customer_id IS NOT NULL);
CREATE INDEX payments_decision_due ON public.payments USING btree (created_at) WHERE decision_due;
CREATE INDEX payments_net ON public.payments USING btree (account_id, net_minor, created_at, id) INCLUDE (asset, status);
CREATE INDEX payments_open ON public.payments USING btree (chain, expires_at) WHERE ((status = ANY (ARRAY['pending'::text, 'detected'::text])) AND (NOT decision_due));
CREATE INDEX payments_reference ON public.payments USING btree (account_id, reference) WHERE (reference IS NOT NULL);
CREATE INDEX payments_sales ON public.payments USING btree (account_id, completed_at) INCLUDE (spent_minor) WHERE (spent_minor IS NOT NULL);
CREATE INDEX payments_status ON public.payments USING btree (account_id, status, created_at, id) INCLUDE (asset);
CREATE INDEX payments_untimely ON public.payments USING btree (account_id, created_at, id) WHERE (id_skew_ms(id, created_at) >= 10000);
CREATE STATISTICS public.payments_id_skew ON id_skew_ms(id, created_at) FROM payments;
CREATE TRIGGER new_payments_counted AFTER INSERT ON public.payments REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION count_new_payments();
CREATE TRIGGER payment_changes_noted AFTER UPDATE OF status, net_minor ON public.payments FOR EACH ROW WHEN (((new.created_at < (statement_timestamp() - '01:00:00'::interval)) AND ((old.status <> new.status) OR (old.net_minor <> new.net_minor)))) EXECUTE FUNCTION note_payment_change();
CREATE CONSTRAINT TRIGGER payments_counted AFTER DELETE OR UPDATE OF asset, status ON public.payments DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION count_payment();

create table payout_batches (
  account_id uuid not null,
  id uuid not null,
  chain text not null,
  size integer not null,
  name text not null,
  asked_by text not null,
  created_at timestamp with time zone not null default now(),
  constraint payout_batches_name_check CHECK (((length(name) >= 1) AND (length(name) <= 120))),
  constraint payout_batches_size_check CHECK (((size >= 1) AND (size <= 1000))),
  constraint payout_batches_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint payout_batches_pkey PRIMARY KEY (account_id, id)
);
CREATE INDEX payout_batches_recent ON public.payout_batches USING btree (account_id, created_at DESC, id DESC);

create table pinned_approvers (
  account_id uuid not null,
  credential_id bytea not null,
  user_id uuid not null,
  name text not null,
  fingerprint text not null,
  pinned_at timestamp with time zone not null,
  counts_from timestamp with time zone not null,
  removed_at timestamp with time zone,
  told_at timestamp with time zone,
  constraint pinned_approvers_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint pinned_approvers_pkey PRIMARY KEY (account_id, credential_id)
);

create table points_of_sale (
  account_id uuid not null,
  id uuid not null,
  name text not null,
  currency text not null,
  created_at timestamp with time zone not null default now(),
  revoked_at timestamp with time zone,
  constraint points_of_sale_currency_check CHECK ((currency = ANY (ARRAY['USD'::text, 'EUR'::text, 'GBP'::text]))),
  constraint points_of_sale_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
  constraint points_of_sale_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint points_of_sale_pkey PRIMARY KEY (account_id, id)
);
CREATE UNIQUE INDEX points_of_sale_id ON public.points_of_sale USING btree (id);

create table proof_sums (
  chain text not null,
  asset text not null,
  height bigint not null,
  observed_atoms numeric(78,0) not null,
  hot_wallet_atoms numeric(78,0) not null,
  booked_before timestamp with time zone not null,
  wallet_atoms numeric(78,0) not null,
  constraint proof_sums_asset_check CHECK ((asset = ANY (ARRAY['BTC'::text, 'LTC'::text, 'ETH'::text, 'USDC'::text, 'USDT'::text]))),
  constraint proof_sums_height_check CHECK ((height >= '-1'::integer)),
  constraint proof_sums_pkey PRIMARY KEY (chain, asset)
);

create table proven_blocks (
  chain text not null,
  height bigint not null,
  hash text not null,
  proven_at timestamp with time zone not null default now(),
  slice_after text not null default ''::text,
  constraint proven_blocks_pkey PRIMARY KEY (chain)
);

create table proven_rows (
  singleton boolean not null default true,
  proven_at timestamp with time zone not null default now(),
  constraint proven_rows_singleton_check CHECK (singleton),
  constraint proven_rows_pkey PRIMARY KEY (singleton)
);

create table recovery_codes (
  user_id uuid not null,
  code_hash bytea not null,
  used_at timestamp with time zone,
  constraint recovery_codes_code_hash_check CHECK ((length(code_hash) = 32)),
  constraint recovery_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint recovery_codes_pkey PRIMARY KEY (user_id, code_hash)
);

create table running_roles (
  instance uuid not null,
  role text not null,
  host text not null,
  version text not null,
  started_at timestamp with time zone not null default now(),
  seen_at timestamp with time zone not null default now(),
  ended_at timestamp with time zone,
  loop_lag_ms integer not null,
  disk_free_bytes bigint,
  key_id text,
  concerns text[] not null default '{}'::text[],
  constraint running_roles_disk_free_bytes_check CHECK ((disk_free_bytes >= 0)),
  constraint running_roles_host_check CHECK (((length(host) >= 1) AND (length(host) <= 255))),
  constraint running_roles_key_id_check CHECK (((length(key_id) >= 1) AND (length(key_id) <= 64))),
  constraint running_roles_loop_lag_ms_check CHECK ((loop_lag_ms >= 0)),
  constraint running_roles_role_check CHECK ((role = ANY (ARRAY['api'::text, 'worker'::text, 'watcher'::text, 'signer'::text]))),
  constraint running_roles_version_check CHECK (((length(version) >= 1) AND (length(version) <= 64))),
  constraint running_roles_pkey PRIMARY KEY (instance, role)
);

create table sandbox_seed (
  singleton boolean not null default true,
  sealed bytea not null,
  constraint sandbox_seed_singleton_check CHECK (singleton),
  constraint sandbox_seed_pkey PRIMARY KEY (singleton)
);

create table saved_views (
  user_id uuid not null,
  account_id uuid not null,
  id uuid not null,
  page text not null,
  name text not null,
  query text not null,
  created_at timestamp with time zone not null default now(),
  constraint saved_views_name_check CHECK (((length(name) >= 1) AND (length(name) <= 60))),
  constraint saved_views_page_check CHECK (((length(page) >= 1) AND (length(page) <= 40))),
  constraint saved_views_query_check CHECK ((length(query) <= 1000)),
  constraint saved_views_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint saved_views_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint saved_views_pkey PRIMARY KEY (user_id, account_id, id)
);

create table schema_migrations (
  name text not null,
  checksum text not null,
  applied_at timestamp with time zone not null default now(),
  needs_version text,
  constraint schema_migrations_pkey PRIMARY KEY (name)
);

create table secret_keys (
  singleton boolean not null default true,
  key_id text not null,
  since timestamp with time zone not null default now(),
  constraint secret_keys_singleton_check CHECK (singleton),
  constraint secret_keys_pkey PRIMARY KEY (singleton)
);

create table sessions (
  id uuid not null,
  user_id uuid not null,
  token_hash bytea not null,
  factor text not null,
  address text not null,
  agent text not null,
  created_at timestamp with time zone not null default now(),
  seen_at timestamp with time zone not null default now(),
  stepped_up_at timestamp with time zone,
  challenge bytea,
  challenge_until timestamp with time zone,
  constraint sessions_agent_check CHECK ((length(agent) <= 200)),
  constraint sessions_challenge_check CHECK ((length(challenge) = 32)),
  constraint sessions_factor_check CHECK ((factor = ANY (ARRAY['half'::text, 'password'::text, 'totp'::text, 'recovery'::text, 'passkey'::text, 'sign_on'::text]))),
  constraint sessions_token_hash_check CHECK ((length(token_hash) = 32)),
  constraint sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint sessions_pkey PRIMARY KEY (id),
  constraint sessions_token_hash_key UNIQUE (token_hash)
);
CREATE INDEX sessions_age ON public.sessions USING btree (created_at);
CREATE INDEX sessions_by_user ON public.sessions USING btree (user_id, created_at);

create table sign_in_challenges (
  challenge bytea not null,
  until timestamp with time zone not null,
  constraint sign_in_challenges_challenge_check CHECK ((length(challenge) = 32)),
  constraint sign_in_challenges_pkey PRIMARY KEY (challenge)
);

create table sign_in_failures (
  subject bytea not null,
  failed_at timestamp with time zone not null default clock_timestamp(),
  constraint sign_in_failures_subject_check CHECK ((length(subject) = 32))
);
CREATE INDEX sign_in_failures_age ON public.sign_in_failures USING btree (failed_at);
CREATE INDEX sign_in_failures_recent ON public.sign_in_failures USING btree (subject, failed_at);

create table sign_on_identities (
  issuer text not null,
  subject text not null,
  user_id uuid not null,
  tied_at timestamp with time zone not null default now(),
  constraint sign_on_identities_issuer_check CHECK ((length(issuer) <= 500)),
  constraint sign_on_identities_subject_check CHECK (((length(subject) >= 1) AND (length(subject) <= 255))),
  constraint sign_on_identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint sign_on_identities_pkey PRIMARY KEY (issuer, subject),
  constraint sign_on_identities_user_id_issuer_key UNIQUE (user_id, issuer)
);

create table signed_payouts (
  account_id uuid not null,
  withdrawal_id uuid not null,
  chain text not null,
  replacement_set text not null,
  constraint signed_payouts_account_id_withdrawal_id_fkey FOREIGN KEY (account_id, withdrawal_id) REFERENCES withdrawals(account_id, id),
  constraint signed_payouts_chain_replacement_set_fkey FOREIGN KEY (chain, replacement_set) REFERENCES signed_transactions(chain, txid),
  constraint signed_payouts_pkey PRIMARY KEY (account_id, withdrawal_id)
);
CREATE INDEX signed_payouts_replacement_set ON public.signed_payouts USING btree (chain, replacement_set);

create table signed_transactions (
  chain text not null,
  txid text not null,
  replacement_set text not null,
  kind text not null,
  status text not null,
  raw text,
  asset text not null,
  value_atoms numeric(78,0) not null,
  sender text,
  nonce bigint,
  fee_atoms numeric(78,0) not null,
  fee_rate numeric(78,0) not null,
  created_at timestamp with time zone not null default now(),
  since_height bigint,
  send_at timestamp with time zone not null default now(),
  sent_at timestamp with time zone,
  refusal text,
  block_height bigint,
  block_hash text,
  paid_fee_atoms numeric(78,0),
  booked_fee_atoms numeric(78,0) not null default 0,
  fee_bookings integer not null default 0,
  bump_wanted boolean not null default false,
  constraint signed_transactions_asset_check CHECK ((asset = ANY (ARRAY['BTC'::text, 'LTC'::text, 'ETH'::text, 'USDC'::text, 'USDT'::text]))),
  constraint signed_transactions_check CHECK (((sender IS NULL) = (nonce IS NULL))),
  constraint signed_transactions_check1 CHECK (((status = ANY (ARRAY['mined'::text, 'mined_reverted'::text, 'confirmed'::text, 'reverted'::text])) = (block_height IS NOT NULL))),
  constraint signed_transactions_check2 CHECK (((block_height IS NULL) = (block_hash IS NULL))),
  constraint signed_transactions_check3 CHECK (((block_height IS NULL) OR (paid_fee_atoms IS NOT NULL))),
  constraint signed_transactions_check4 CHECK (((status <> ALL (ARRAY['placed'::text, 'recovered'::text])) OR (raw IS NULL))),
  constraint signed_transactions_check5 CHECK (((status <> ALL (ARRAY['ready'::text, 'sent'::text, 'refused'::text])) OR (raw IS NOT NULL))),
  constraint signed_transactions_check6 CHECK (((status = 'refused'::text) = (refusal IS NOT NULL))),
  constraint signed_transactions_fee_atoms_check CHECK ((fee_atoms > (0)::numeric)),
  constraint signed_transactions_fee_rate_check CHECK ((fee_rate > (0)::numeric)),
  constraint signed_transactions_kind_check CHECK ((kind = ANY (ARRAY['payout'::text, 'replacement'::text, 'child'::text, 'consolidation'::text, 'gas'::text, 'sweep'::text, 'batch'::text, 'deploy'::text]))),
  constraint signed_transactions_nonce_check CHECK ((nonce >= 0)),
  constraint signed_transactions_status_check CHECK ((status = ANY (ARRAY['placed'::text, 'ready'::text, 'sent'::text, 'refused'::text, 'recovered'::text, 'mined'::text, 'mined_reverted'::text, 'confirmed'::text, 'reverted'::text, 'displaced'::text, 'impossible'::text]))),
  constraint signed_transactions_value_atoms_check CHECK ((value_atoms >= (0)::numeric)),
  constraint signed_transactions_chain_replacement_set_fkey FOREIGN KEY (chain, replacement_set) REFERENCES signed_transactions(chain, txid),
  constraint signed_transactions_pkey PRIMARY KEY (chain, txid)
);
CREATE INDEX signed_transactions_by_block ON public.signed_transactions USING btree (chain, block_height) WHERE (block_height IS NOT NULL);
CREATE UNIQUE INDEX signed_transactions_nonce ON public.signed_transactions USING btree (chain, sender, nonce) WHERE (txid = replacement_set);
CREATE INDEX signed_transactions_not_ready ON public.signed_transactions USING btree (chain) WHERE (status = ANY (ARRAY['placed'::text, 'recovered'::text]));
CREATE INDEX signed_transactions_open ON public.signed_transactions USING btree (chain, created_at) WHERE (status <> ALL (ARRAY['confirmed'::text, 'reverted'::text, 'displaced'::text, 'impossible'::text]));
CREATE INDEX signed_transactions_recent ON public.signed_transactions USING btree (chain, created_at);
CREATE INDEX signed_transactions_replacement_set ON public.signed_transactions USING btree (chain, replacement_set);
CREATE INDEX signed_transactions_sender ON public.signed_transactions USING btree (chain, sender) WHERE (sender IS NOT NULL);

create table sim_balances (
  chain text not null,
  lookup bytea not null,
  asset text not null,
  atoms numeric(78,0) not null,
  constraint sim_balances_asset_check CHECK ((asset = ANY (ARRAY['ETH'::text, 'USDC'::text, 'USDT'::text]))),
  constraint sim_balances_atoms_check CHECK ((atoms >= (0)::numeric)),
  constraint sim_balances_chain_fkey FOREIGN KEY (chain) REFERENCES sim_chains(chain),
  constraint sim_balances_pkey PRIMARY KEY (chain, lookup, asset)
);

create table sim_blocks (
  chain text not null,
  height bigint not null,
  hash text not null,
  parent_hash text not null,
  block_time timestamp with time zone not null,
  constraint sim_blocks_height_check CHECK ((height >= 0)),
  constraint sim_blocks_chain_fkey FOREIGN KEY (chain) REFERENCES sim_chains(chain),
  constraint sim_blocks_pkey PRIMARY KEY (chain, height),
  constraint sim_blocks_chain_hash_key UNIQUE (chain, hash)
);

create table sim_chains (
  chain text not null,
  constraint sim_chains_chain_check CHECK ((chain = ANY (ARRAY['sim-bitcoin'::text, 'sim-litecoin'::text, 'sim-ethereum'::text]))),
  constraint sim_chains_pkey PRIMARY KEY (chain)
);

create table sim_claims (
  chain text not null,
  name text not null,
  position bigint not null,
  txid text not null,
  constraint sim_claims_position_check CHECK (("position" >= 0)),
  constraint sim_claims_chain_txid_fkey FOREIGN KEY (chain, txid) REFERENCES sim_transactions(chain, txid) ON DELETE CASCADE,
  constraint sim_claims_pkey PRIMARY KEY (chain, name, "position")
);
CREATE INDEX sim_claims_txid ON public.sim_claims USING btree (chain, txid);

create table sim_transactions (
  chain text not null,
  txid text not null,
  sequence bigint not null,
  height bigint,
  body jsonb not null,
  constraint sim_transactions_chain_fkey FOREIGN KEY (chain) REFERENCES sim_chains(chain),
  constraint sim_transactions_chain_height_fkey FOREIGN KEY (chain, height) REFERENCES sim_blocks(chain, height),
  constraint sim_transactions_pkey PRIMARY KEY (chain, txid)
);
CREATE INDEX sim_transactions_mempool ON public.sim_transactions USING btree (chain, sequence) WHERE (height IS NULL);
CREATE INDEX sim_transactions_mined ON public.sim_transactions USING btree (chain, height, sequence) WHERE (height IS NOT NULL);

create table sweep_delegates (
  chain text not null,
  address text not null,
  replacement_set text,
  wanted_since timestamp with time zone,
  constraint sweep_delegates_chain_replacement_set_fkey FOREIGN KEY (chain, replacement_set) REFERENCES signed_transactions(chain, txid),
  constraint sweep_delegates_pkey PRIMARY KEY (chain, address)
);

create table sweeps (
  chain text not null,
  id uuid not null,
  address text not null,
  series text not null,
  position bigint not null,
  asset text not null,
  atoms numeric(78,0) not null,
  status text not null,
  way text not null default 'alone'::text,
  delegates boolean not null default false,
  ether_atoms numeric(78,0) not null default 0,
  gas_replacement_set text,
  replacement_set text,
  created_at timestamp with time zone not null default now(),
  constraint sweeps_asset_check CHECK ((asset = ANY (ARRAY['ETH'::text, 'USDC'::text, 'USDT'::text]))),
  constraint sweeps_atoms_check CHECK ((atoms > (0)::numeric)),
  constraint sweeps_ether_atoms_check CHECK ((ether_atoms >= (0)::numeric)),
  constraint sweeps_position_check CHECK (("position" >= 0)),
  constraint sweeps_status_check CHECK ((status = ANY (ARRAY['planned'::text, 'funding'::text, 'funded'::text, 'sweeping'::text, 'done'::text, 'failed'::text]))),
  constraint sweeps_way_check CHECK ((way = ANY (ARRAY['alone'::text, 'batch'::text]))),
  constraint sweeps_chain_gas_replacement_set_fkey FOREIGN KEY (chain, gas_replacement_set) REFERENCES signed_transactions(chain, txid),
  constraint sweeps_chain_replacement_set_fkey FOREIGN KEY (chain, replacement_set) REFERENCES signed_transactions(chain, txid),
  constraint sweeps_pkey PRIMARY KEY (chain, id)
);
CREATE INDEX sweeps_by_address ON public.sweeps USING btree (chain, address, asset);
CREATE INDEX sweeps_by_gas_replacement_set ON public.sweeps USING btree (chain, gas_replacement_set) WHERE (gas_replacement_set IS NOT NULL);
CREATE INDEX sweeps_by_replacement_set ON public.sweeps USING btree (chain, replacement_set) WHERE (replacement_set IS NOT NULL);
CREATE UNIQUE INDEX sweeps_open ON public.sweeps USING btree (chain, address) WHERE (status <> ALL (ARRAY['done'::text, 'failed'::text]));

create table swept_tokens (
  chain text not null,
  txid text not null,
  address text not null,
  asset text not null,
  atoms numeric(78,0) not null,
  constraint swept_tokens_asset_check CHECK ((asset = ANY (ARRAY['USDC'::text, 'USDT'::text]))),
  constraint swept_tokens_atoms_check CHECK ((atoms > (0)::numeric)),
  constraint swept_tokens_chain_txid_fkey FOREIGN KEY (chain, txid) REFERENCES signed_transactions(chain, txid),
  constraint swept_tokens_pkey PRIMARY KEY (chain, txid, address, asset)
);
CREATE INDEX swept_tokens_by_address ON public.swept_tokens USING btree (chain, address);

create table time_arrow (
  singleton boolean not null default true,
  history uuid not null default gen_random_uuid(),
  era integer not null default 1,
  tick bigint not null default 1,
  timelines jsonb not null default '{}'::jsonb,
  stopped text,
  remembered_era integer not null default 1,
  made_safe boolean not null default false,
  constraint time_arrow_check CHECK (((stopped IS NOT NULL) OR (NOT made_safe))),
  constraint time_arrow_era_check CHECK ((era >= 1)),
  constraint time_arrow_singleton_check CHECK (singleton),
  constraint time_arrow_tick_check CHECK ((tick >= 1)),
  constraint time_arrow_pkey PRIMARY KEY (singleton)
);

create table told_acts (
  singleton boolean not null default true,
  place bigint not null,
  constraint told_acts_place_check CHECK ((place >= 0)),
  constraint told_acts_singleton_check CHECK (singleton),
  constraint told_acts_pkey PRIMARY KEY (singleton)
);

create table totp (
  user_id uuid not null,
  secret_sealed bytea not null,
  confirmed_at timestamp with time zone,
  last_counter bigint not null default '-1'::integer,
  begun_by uuid not null,
  begun_at timestamp with time zone not null default now(),
  constraint totp_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint totp_pkey PRIMARY KEY (user_id)
);

create table transfers (
  account_id uuid not null,
  entry_id uuid not null,
  line smallint not null,
  chain text not null,
  asset text not null,
  debit text not null,
  credit text not null,
  amount_atoms numeric(78,0) not null,
  created_at timestamp with time zone not null default now(),
  constraint transfers_amount_atoms_check CHECK ((amount_atoms > (0)::numeric)),
  constraint transfers_asset_check CHECK ((asset = ANY (ARRAY['BTC'::text, 'LTC'::text, 'ETH'::text, 'USDC'::text, 'USDT'::text]))),
  constraint transfers_check CHECK ((debit <> credit)),
  constraint transfers_credit_check CHECK ((credit = ANY (ARRAY['available'::text, 'held'::text, 'unresolved'::text, 'fees'::text, 'network_fees'::text, 'loss'::text, 'capital'::text, 'wallet'::text]))),
  constraint transfers_debit_check CHECK ((debit = ANY (ARRAY['available'::text, 'held'::text, 'unresolved'::text, 'fees'::text, 'network_fees'::text, 'loss'::text, 'capital'::text, 'wallet'::text]))),
  constraint transfers_line_check CHECK ((line >= 0)),
  constraint transfers_account_id_entry_id_fkey FOREIGN KEY (account_id, entry_id) REFERENCES journal_entries(account_id, id),
  constraint transfers_pkey PRIMARY KEY (account_id, entry_id, line)
);
CREATE INDEX transfers_history ON public.transfers USING btree (account_id, asset, created_at);
CREATE INDEX transfers_own ON public.transfers USING btree (chain, asset) INCLUDE (debit, credit, amount_atoms) WHERE ((debit = ANY (ARRAY['fees'::text, 'capital'::text, 'network_fees'::text, 'loss'::text])) OR (credit = ANY (ARRAY['fees'::text, 'capital'::text, 'network_fees'::text, 'loss'::text])));
CREATE INDEX transfers_wallet ON public.transfers USING btree (chain, created_at) INCLUDE (asset, debit, amount_atoms) WHERE ((debit = 'wallet'::text) OR (credit = 'wallet'::text));

create table unexpected_deposits (
  chain text not null,
  tx_key text not null,
  output_index integer not null,
  lookup bytea not null,
  address text,
  asset text not null,
  atoms numeric(78,0) not null,
  block_height bigint,
  sweep uuid,
  constraint unexpected_deposits_asset_check CHECK ((asset = ANY (ARRAY['ETH'::text, 'USDC'::text, 'USDT'::text]))),
  constraint unexpected_deposits_atoms_check CHECK ((atoms > (0)::numeric)),
  constraint unexpected_deposits_check CHECK (((sweep IS NULL) OR ((address IS NOT NULL) AND (block_height IS NOT NULL)))),
  constraint unexpected_deposits_chain_sweep_fkey FOREIGN KEY (chain, sweep) REFERENCES sweeps(chain, id) ON DELETE SET NULL (sweep),
  constraint unexpected_deposits_pkey PRIMARY KEY (chain, tx_key, output_index)
);
CREATE INDEX unexpected_deposits_by_address ON public.unexpected_deposits USING btree (chain, address) WHERE (address IS NOT NULL);
CREATE INDEX unexpected_deposits_by_height ON public.unexpected_deposits USING btree (chain, block_height);
CREATE INDEX unexpected_deposits_by_lookup ON public.unexpected_deposits USING btree (chain, lookup);
CREATE INDEX unexpected_deposits_by_sweep ON public.unexpected_deposits USING btree (chain, sweep) WHERE (sweep IS NOT NULL);
CREATE INDEX unexpected_deposits_unswept ON public.unexpected_deposits USING btree (chain, asset, atoms DESC) WHERE ((address IS NOT NULL) AND (sweep IS NULL));

create table unresolved_funds (
  account_id uuid not null,
  payment_id uuid not null,
  asset text not null,
  atoms numeric(78,0) not null,
  constraint unresolved_funds_asset_check CHECK ((asset = ANY (ARRAY['BTC'::text, 'LTC'::text, 'ETH'::text, 'USDC'::text, 'USDT'::text]))),
  constraint unresolved_funds_atoms_check CHECK ((atoms >= (0)::numeric)),
  constraint unresolved_funds_account_id_payment_id_fkey FOREIGN KEY (account_id, payment_id) REFERENCES payments(account_id, id),
  constraint unresolved_funds_pkey PRIMARY KEY (account_id, payment_id, asset)
);
CREATE INDEX unresolved_funds_held ON public.unresolved_funds USING btree (account_id, payment_id) WHERE (atoms > (0)::numeric);

create table users (
  id uuid not null,
  email text not null,
  name text not null,
  password_hash text,
  is_operator boolean not null default false,
  is_handed_over boolean not null default false,
  created_at timestamp with time zone not null default now(),
  disabled_at timestamp with time zone,
  constraint users_email_check CHECK (((length(email) >= 3) AND (length(email) <= 254))),
  constraint users_name_check CHECK (((length(name) >= 1) AND (length(name) <= 120))),
  constraint users_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX users_email ON public.users USING btree (lower(email));

create table utxos (
  chain text not null,
  txid text not null,
  txid_head bigint not null generated always as (((('x'::text || "left"(txid, 16)))::bit(64))::bigint) stored,
  output_index integer not null,
  lookup bytea not null,
  atoms numeric(78,0) not null,
  is_coinbase boolean not null default false,
  block_height bigint,
  spent_by text,
  spent_height bigint,
  reserved_by text,
  reserved_first_by text,
  constraint utxos_atoms_check CHECK ((atoms > (0)::numeric)),
  constraint utxos_check CHECK (((spent_by IS NULL) = (spent_height IS NULL))),
  constraint utxos_output_index_check CHECK ((output_index >= 0)),
  constraint utxos_txid_check CHECK ((txid ~ '^[0-9a-f]{64}$'::text)),
  constraint utxos_chain_reserved_by_fkey FOREIGN KEY (chain, reserved_by) REFERENCES signed_transactions(chain, txid),
  constraint utxos_pkey PRIMARY KEY (chain, txid, output_index)
);
CREATE INDEX utxos_by_head ON public.utxos USING btree (txid_head);
CREATE INDEX utxos_by_height ON public.utxos USING btree (chain, block_height) WHERE (block_height IS NOT NULL);
CREATE INDEX utxos_by_spender ON public.utxos USING btree (chain, spent_by) WHERE (spent_by IS NOT NULL);
CREATE INDEX utxos_by_spent_height ON public.utxos USING btree (chain, spent_height) WHERE (spent_height IS NOT NULL);
CREATE INDEX utxos_in_no_block ON public.utxos USING btree (chain) WHERE (block_height IS NULL);
CREATE INDEX utxos_reserved ON public.utxos USING btree (chain, reserved_by) WHERE (reserved_by IS NOT NULL);
CREATE INDEX utxos_spendable ON public.utxos USING btree (chain, atoms DESC) WHERE ((spent_by IS NULL) AND (reserved_by IS NULL));
CREATE INDEX utxos_unspent ON public.utxos USING btree (chain, txid, output_index) WHERE ((spent_by IS NULL) AND (block_height IS NOT NULL));

create table wallets (
  chain text not null,
  series text not null,
  network text not null,
  xpub text not null,
  next_change bigint not null default 1,
  mac bytea not null,
  created_at timestamp with time zone not null default now(),
  retired_at timestamp with time zone,
  constraint wallets_chain_check CHECK ((chain = ANY (ARRAY['bitcoin'::text, 'litecoin'::text, 'ethereum'::text, 'sim-bitcoin'::text, 'sim-litecoin'::text, 'sim-ethereum'::text]))),
  constraint wallets_mac_check CHECK ((length(mac) = 32)),
  constraint wallets_network_check CHECK ((network = ANY (ARRAY['mainnet'::text, 'testnet'::text, 'regtest'::text]))),
  constraint wallets_next_change_check CHECK ((next_change > 0)),
  constraint wallets_pkey PRIMARY KEY (chain, series)
);
CREATE UNIQUE INDEX wallets_current ON public.wallets USING btree (chain) WHERE (retired_at IS NULL);

create table webhook_endpoints (
  account_id uuid not null,
  id uuid not null,
  url text not null,
  events text[] not null,
  secret_sealed bytea not null,
  previous_secret_sealed bytea,
  previous_secret_until timestamp with time zone,
  is_active boolean not null default true,
  failing_since timestamp with time zone,
  failed_at timestamp with time zone,
  disabled_reason text,
  created_at timestamp with time zone not null default now(),
  deleted_at timestamp with time zone,
  constraint webhook_endpoints_check CHECK (((failed_at IS NULL) = (failing_since IS NULL))),
  constraint webhook_endpoints_events_check CHECK ((cardinality(events) > 0)),
  constraint webhook_endpoints_url_check CHECK ((length(url) <= 2048)),
  constraint webhook_endpoints_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint webhook_endpoints_pkey PRIMARY KEY (account_id, id)
);
CREATE INDEX webhook_endpoints_created ON public.webhook_endpoints USING btree (account_id, created_at DESC, id DESC) WHERE (deleted_at IS NULL);
CREATE INDEX webhook_endpoints_ill ON public.webhook_endpoints USING btree (account_id, id) WHERE ((deleted_at IS NULL) AND ((failing_since IS NOT NULL) OR (disabled_reason IS NOT NULL)));

create table withdrawals (
  account_id uuid not null,
  id uuid not null,
  kind text not null,
  payment_id uuid,
  status text not null,
  chain text not null,
  asset text not null,
  amount_atoms numeric(78,0) not null,
  fee_atoms numeric(78,0) not null,
  network_fee_atoms numeric(78,0) not null,
  net_atoms numeric(78,0) not null,
  destination text not null,
  asked_by text not null,
  mac bytea not null,
  tx_hash text,
  created_at timestamp with time zone not null default now(),
  broadcast_at timestamp with time zone,
  completed_at timestamp with time zone,
  failed_at timestamp with time zone,
  refused_reason text,
  waiting_for text,
  rehearsal text,
  rehearsed_at timestamp with time zone,
  rehearsed_gas bigint,
  cancel_wanted boolean not null default false,
  signing_since timestamp with time zone,
  kept_atoms numeric(78,0) not null default 0,
  batch_id uuid,
  batch_note text,
  constraint withdrawals_amount_atoms_check CHECK ((amount_atoms > (0)::numeric)),
  constraint withdrawals_asset_check CHECK ((asset = ANY (ARRAY['BTC'::text, 'LTC'::text, 'ETH'::text, 'USDC'::text, 'USDT'::text]))),
  constraint withdrawals_batch_note_check CHECK ((length(batch_note) <= 80)),
  constraint withdrawals_check CHECK ((((rehearsal IS NULL) = (rehearsed_at IS NULL)) AND ((rehearsal IS NULL) = (rehearsed_gas IS NULL)))),
  constraint withdrawals_check1 CHECK (((kept_atoms >= (0)::numeric) AND (kept_atoms <= amount_atoms))),
  constraint withdrawals_check2 CHECK (((kept_atoms = (0)::numeric) OR (status = 'failed'::text))),
  constraint withdrawals_check3 CHECK ((amount_atoms = ((fee_atoms + network_fee_atoms) + net_atoms))),
  constraint withdrawals_check4 CHECK (((kind = 'refund'::text) = (payment_id IS NOT NULL))),
  constraint withdrawals_check5 CHECK (((kind = ANY (ARRAY['fees'::text, 'capital'::text])) = (account_id = ANY (ARRAY['00000000-0000-0000-0000-000000000001'::uuid, '00000000-0000-0000-0000-000000000002'::uuid])))),
  constraint withdrawals_check6 CHECK (((status <> ALL (ARRAY['broadcast'::text, 'completed'::text])) OR (tx_hash IS NOT NULL))),
  constraint withdrawals_check7 CHECK (((status = 'completed'::text) = (completed_at IS NOT NULL))),
  constraint withdrawals_check8 CHECK (((status = 'failed'::text) = (failed_at IS NOT NULL))),
  constraint withdrawals_fee_atoms_check CHECK ((fee_atoms >= (0)::numeric)),
  constraint withdrawals_kind_check CHECK ((kind = ANY (ARRAY['payout'::text, 'refund'::text, 'fees'::text, 'capital'::text]))),
  constraint withdrawals_mac_check CHECK ((length(mac) = 32)),
  constraint withdrawals_net_atoms_check CHECK ((net_atoms > (0)::numeric)),
  constraint withdrawals_network_fee_atoms_check CHECK ((network_fee_atoms >= (0)::numeric)),
  constraint withdrawals_rehearsal_check CHECK ((rehearsal = ANY (ARRAY['succeeds'::text, 'reverts'::text, 'unclear'::text]))),
  constraint withdrawals_rehearsed_gas_check CHECK ((rehearsed_gas >= 0)),
  constraint withdrawals_status_check CHECK ((status = ANY (ARRAY['requested'::text, 'broadcast'::text, 'completed'::text, 'failed'::text]))),
  constraint withdrawals_waiting_for_check CHECK ((waiting_for = ANY (ARRAY['coins'::text, 'confirmations'::text, 'network_fee'::text, 'limit'::text, 'allowlist'::text, 'frozen'::text, 'approval'::text]))),
  constraint withdrawals_account_id_batch_id_fkey FOREIGN KEY (account_id, batch_id) REFERENCES payout_batches(account_id, id),
  constraint withdrawals_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint withdrawals_account_id_payment_id_fkey FOREIGN KEY (account_id, payment_id) REFERENCES payments(account_id, id),
  constraint withdrawals_pkey PRIMARY KEY (account_id, id)
);
CREATE INDEX withdrawals_by_asset ON public.withdrawals USING btree (account_id, asset, created_at DESC, id DESC) INCLUDE (kind, status);
CREATE INDEX withdrawals_by_batch ON public.withdrawals USING btree (account_id, batch_id) WHERE (batch_id IS NOT NULL);
CREATE INDEX withdrawals_by_kind ON public.withdrawals USING btree (account_id, kind, created_at DESC, id DESC) INCLUDE (asset, status);
CREATE INDEX withdrawals_by_status ON public.withdrawals USING btree (account_id, status, created_at DESC, id DESC) INCLUDE (kind, asset);
CREATE INDEX withdrawals_destination ON public.withdrawals USING btree (account_id, destination);
CREATE INDEX withdrawals_of_payment ON public.withdrawals USING btree (account_id, payment_id) WHERE (payment_id IS NOT NULL);
CREATE INDEX withdrawals_recent ON public.withdrawals USING btree (account_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX withdrawals_refund ON public.withdrawals USING btree (account_id, payment_id) WHERE ((payment_id IS NOT NULL) AND (status <> 'failed'::text));
CREATE INDEX withdrawals_requested ON public.withdrawals USING btree (chain, created_at, id) WHERE (status = 'requested'::text);
CREATE INDEX withdrawals_reverted ON public.withdrawals USING btree (account_id, failed_at) WHERE (refused_reason = 'reverted'::text);
CREATE INDEX withdrawals_signing ON public.withdrawals USING btree (chain, signing_since) WHERE ((status = 'requested'::text) AND (signing_since IS NOT NULL));
CREATE INDEX withdrawals_tx_hash ON public.withdrawals USING btree (account_id, tx_hash) WHERE (tx_hash IS NOT NULL);

CREATE OR REPLACE FUNCTION public.begin_anew(why text)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  raise exception using errcode = 'serialization_failure', message = why;
end
$function$;

CREATE OR REPLACE FUNCTION public.count_customer()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into customer_counts as counted (account_id, slot, customers)
  values (coalesce(new.account_id, old.account_id), pg_backend_pid() % 64, case when tg_op = 'INSERT' then 1 else -1 end)
  on conflict (account_id, slot) do update set customers = counted.customers + excluded.customers;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.count_new_payments()
 RETURNS trigger
 LANGUAGE plpgsql
 SET lock_timeout TO '0'
AS $function$
begin
  insert into payment_counts as counted (account_id, asset, status, slot, payments)
  select account_id, asset, status, pg_backend_pid() % 64, count(*) from made
  group by account_id, asset, status order by account_id, asset, status
  on conflict (account_id, asset, status, slot) do update set payments = counted.payments + excluded.payments;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.count_payment()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'UPDATE' and new.asset = old.asset and new.status = old.status then
    return null;
  end if;
  insert into payment_counts as counted (account_id, asset, status, slot, payments)
  select each.account_id, each.asset, each.status, pg_backend_pid() % 64, each.change
  from (values (new.account_id, new.asset, new.status, 1), (old.account_id, old.asset, old.status, -1))
    as each (account_id, asset, status, change)
  where each.account_id is not null
  -- All lock in one order.
  order by each.asset, each.status
  on conflict (account_id, asset, status, slot) do update set payments = counted.payments + excluded.payments;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.ether_of(of_chain text, of_address text)
 RETURNS TABLE(observed_atoms numeric, booked_atoms numeric, given_atoms numeric, sent_atoms numeric, is_certain boolean)
 LANGUAGE sql
 STABLE
BEGIN ATOMIC
 SELECT (COALESCE(( SELECT sum(d.amount_atoms) AS sum
            FROM deposits d
           WHERE ((d.chain = ether_of.of_chain) AND (d.address = ether_of.of_address) AND (d.asset = 'ETH'::text) AND (d.block_height IS NOT NULL))), (0)::numeric) + COALESCE(( SELECT sum(r.atoms) AS sum
            FROM unexpected_deposits r
           WHERE ((r.chain = ether_of.of_chain) AND (r.lookup = decode(substr(ether_of.of_address, 3), 'hex'::text)) AND (r.asset = 'ETH'::text) AND (r.block_height IS NOT NULL))), (0)::numeric)),
     (COALESCE(( SELECT sum(d.amount_atoms) AS sum
            FROM deposits d
           WHERE ((d.chain = ether_of.of_chain) AND (d.address = ether_of.of_address) AND (d.asset = 'ETH'::text) AND d.booked)), (0)::numeric) + COALESCE(( SELECT sum(r.atoms) AS sum
            FROM (unexpected_deposits r
              JOIN chains v ON ((v.chain = r.chain)))
           WHERE ((r.chain = ether_of.of_chain) AND (r.address = ether_of.of_address) AND (r.asset = 'ETH'::text) AND (r.block_height <= v.capital_height))), (0)::numeric)),
     COALESCE(( SELECT sum(g.atoms) AS sum
            FROM gas_funding g
           WHERE ((g.chain = ether_of.of_chain) AND (g.address = ether_of.of_address))), (0)::numeric) AS "coalesce",
     COALESCE(( SELECT sum((s.paid_fee_atoms +
                 CASE
                     WHEN ((s.asset = 'ETH'::text) AND (s.status = ANY (ARRAY['mined'::text, 'confirmed'::text]))) THEN s.value_atoms
                     ELSE (0)::numeric
                 END)) AS sum
            FROM signed_transactions s
           WHERE ((s.chain = ether_of.of_chain) AND (s.sender = ether_of.of_address) AND (s.block_height IS NOT NULL))), (0)::numeric) AS "coalesce",
     ((NOT (EXISTS ( SELECT
            FROM signed_transactions s
           WHERE ((s.chain = ether_of.of_chain) AND (s.sender = ether_of.of_address) AND (s.status <> ALL (ARRAY['confirmed'::text, 'reverted'::text, 'displaced'::text, 'impossible'::text])))))) AND (NOT (EXISTS ( SELECT
            FROM unseen_ends() u(chain, txid, replacement_set, kind, status, raw, asset, value_atoms, sender, nonce, fee_atoms, fee_rate, created_at, since_height, send_at, sent_at, refusal, block_height, block_hash, paid_fee_atoms, booked_fee_atoms, fee_bookings, bump_wanted)
           WHERE ((u.chain = ether_of.of_chain) AND (u.sender = ether_of.of_address))))));
END;

CREATE OR REPLACE FUNCTION public.id_skew_ms(id uuid, made_at timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN abs((((('x'::text || "left"(replace((id)::text, '-'::text, ''::text), 12)))::bit(48))::bigint - (floor((EXTRACT(epoch FROM (made_at AT TIME ZONE 'UTC'::text)) * (1000)::numeric)))::bigint));

CREATE OR REPLACE FUNCTION public.note_payment_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into payment_changes (account_id, payment_id, created_at, asset, old_status, new_status, old_net_minor, new_net_minor)
  values (new.account_id, new.id, new.created_at, new.asset, old.status, new.status, old.net_minor, new.net_minor);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.refuse_audit_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  chained audit_log;
begin
  if tg_op = 'UPDATE' and old.place is null then
    chained := old;
    chained.place := new.place;
    chained.mac := new.mac;
    -- Byte by byte, for JSON knows no equality.
    if chained *= new then
      return new;
    end if;
  end if;
  raise exception 'the audit log is added to, never changed';
end
$function$;

CREATE OR REPLACE FUNCTION public.refuse_closed(account uuid)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  raise exception using errcode = 'BKCLS', message = format('the account %s is closed', account);
end
$function$;

CREATE OR REPLACE FUNCTION public.unseen_ends()
 RETURNS SETOF signed_transactions
 LANGUAGE sql
 STABLE
AS $function$
  select s.* from chains c
  -- Beside the table and not in its condition, so that the index by block is asked.
  cross join lateral (select min(k.height) as height from chain_blocks k where k.chain = c.chain) kept
  join signed_transactions s on s.chain = c.chain and s.block_height >= kept.height
  left join chain_blocks b on b.chain = s.chain and b.height = s.block_height
  where s.status in ('confirmed', 'reverted') and b.hash is distinct from s.block_hash
$function$;
