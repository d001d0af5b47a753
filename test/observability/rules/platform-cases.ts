/** Cases in which alerts on exporters' metrics fire, and cases in which they do not. Names and labels are those of the exporters. */
import { KUBERNETES, render, workloadsOf } from '../../deploy/kubernetes/render.ts'
import type { AlertCase, Series } from './promtool.ts'

const HOUR = 3_600
const DAY = 24 * HOUR
const constant = (series: string, value: number): Series => ({ [series]: `${value}x120` })
/** Each of `values` is a series with a value above the threshold, for which the alert fires, and one at the threshold, for which it does not. */
const levels = (...values: readonly (readonly [series: string, above: number, at: number])[]): AlertCase => ({
  at: '90m',
  fires: values.map(([series, above]) => constant(series, above)),
  quiet: values.map(([series, , at]) => constant(series, at)),
})
const volume = (claim: string, used: number): Series => ({
  [`kubelet_volume_stats_used_bytes{namespace="svc", persistentvolumeclaim="${claim}"}`]: `${used}x120`,
  [`kubelet_volume_stats_capacity_bytes{namespace="svc", persistentvolumeclaim="${claim}"}`]: '100x120',
})
const mount = (mountpoint: string, used: number): Series => ({
  [`node_filesystem_avail_bytes{instance="a", mountpoint="${mountpoint}"}`]: `${100 - used}x120`,
  [`node_filesystem_size_bytes{instance="a", mountpoint="${mountpoint}"}`]: '100x120',
})
const cronJob = (times: Readonly<Record<string, string>>, name = 'verify-books'): Series =>
  Object.fromEntries(
    Object.entries(times).map(([what, values]) => [`kube_cronjob_${what}{namespace="svc", cronjob="${name}"}`, values]),
  )
const JETSTREAM = 'namespace="svc", server_id="a", server_name="nats-0", cluster="svc", domain=""'
const STREAM = `${JETSTREAM}, account="$G", stream_name="ACCEPTED"`
const job = (name: string): string => `namespace="svc", job_name="${name}"`
const ALL_EXPORTERS: Series = {
  ...constant('gnatsd_varz_slow_consumers{instance="nats"}', 0),
  ...constant('pg_settings_max_connections{instance="pg"}', 100),
  ...constant('pgbackrest_backup_since_last_completion_seconds{stanza="svc"}', 60),
  ...constant('kube_pod_info{namespace="svc"}', 1),
  ...constant('kubelet_volume_stats_used_bytes{namespace="svc"}', 1),
  ...constant('probe_ssl_earliest_cert_expiry{instance="a"}', 90 * DAY),
  ...constant('probe_success{job="svc-edge", instance="a"}', 1),
}
const CHART_OF_NATS: Series = {
  ...without(ALL_EXPORTERS, /^gnatsd/),
  ...constant('nats_varz_slow_consumers{instance="nats"}', 0),
}
/** Two deployments, one of which loses its exporter of NATS. */
const TWO_DEPLOYMENTS: Series = {
  ...without(ALL_EXPORTERS, 'gnatsd_varz_slow_consumers{instance="nats"}'),
  ...constant('gnatsd_varz_slow_consumers{namespace="staging", instance="nats"}', 0),
  'gnatsd_varz_slow_consumers{namespace="production", instance="nats"}': '0x8',
}
const CLOUDNATIVE_PG: Series = {
  ...without(ALL_EXPORTERS, /^pg/),
  ...constant('cnpg_pg_settings_setting{instance="pg", name="max_connections"}', 100),
  ...constant('cnpg_collector_last_available_backup_timestamp{instance="pg"}', 60),
}

export const PLATFORM_CASES: Readonly<Record<string, AlertCase>> = {
  SvcNatsNoLeader: {
    at: '10m',
    fires: [
      constant(`jetstream_server_jetstream_disabled{${JETSTREAM}, meta_leader=""}`, 0),
      constant(`jetstream_stream_total_messages{${STREAM}, meta_leader="nats-1", stream_leader=""}`, 7),
      constant(`nats_server_jetstream_disabled{${JETSTREAM}, meta_leader=""}`, 0),
      constant(`nats_stream_total_messages{${STREAM}, meta_leader="nats-1", stream_leader=""}`, 7),
    ],
    quiet: [
      {
        ...constant(`jetstream_server_jetstream_disabled{${JETSTREAM}, meta_leader="nats-1"}`, 0),
        ...constant(`jetstream_stream_total_messages{${STREAM}, meta_leader="nats-1", stream_leader="nats-2"}`, 7),
      },
      // A server that is alone has no cluster and needs no leader.
      constant('jetstream_server_jetstream_disabled{server_name="nats-0", cluster="", meta_leader=""}', 0),
    ],
  },
  SvcNatsDisk: {
    at: '90m',
    // Of components/nats, of the chart of NATS, and of a machine.
    fires: [volume('data-nats-0', 71), volume('nats-js-nats-0', 71), mount('/srv/nats', 71)],
    quiet: [volume('data-nats-0', 70), mount('/srv/nats', 70), volume('data-other-0', 99)],
  },
  SvcNatsUnhealthy: {
    at: '10m',
    fires: [
      constant('gnatsd_healthz_status{instance="nats-0", server_id="a"}', 1),
      // A server that has switched JetStream off has no cluster and no leader in its labels.
      constant('jetstream_server_jetstream_disabled{instance="nats-0", cluster="", meta_leader=""}', 1),
      constant('nats_server_jetstream_disabled{instance="nats-0", cluster="", meta_leader=""}', 1),
    ],
    quiet: [
      constant('gnatsd_healthz_status{instance="nats-0", server_id="a"}', 0),
      constant('jetstream_server_jetstream_disabled{instance="nats-0", cluster="svc", meta_leader="nats-1"}', 0),
      // A server that starts recovers its streams.
      { 'gnatsd_healthz_status{instance="nats-0", server_id="a"}': '1x2 0x60' },
    ],
  },
  SvcNatsSlowConsumers: {
    at: '20m',
    fires: [
      { 'gnatsd_varz_slow_consumers{instance="nats-0", server_id="a"}': '3x14 4x60' },
      { 'nats_varz_slow_consumers{instance="nats-0", server_id="a"}': '3x14 4x60' },
    ],
    quiet: [{ 'gnatsd_varz_slow_consumers{instance="nats-0", server_id="a"}': '3x120' }],
  },
  SvcPostgresReplicationLag: levels(
    ['pg_replication_lag_seconds{instance="a"}', 31, 30],
    ['pg_stat_replication_pg_wal_lsn_diff{instance="a", application_name="b"}', 2 ** 28 + 1, 2 ** 28],
    ['cnpg_pg_replication_lag{instance="a"}', 31, 30],
  ),
  SvcPostgresStandbyLost: {
    at: '10m',
    fires: [
      constant('pg_replication_slots_slot_is_active{slot_name="a", slot_type="physical"}', 0),
      {
        ...constant('cnpg_pg_replication_in_recovery{instance="a"}', 1),
        ...constant('cnpg_pg_replication_is_wal_receiver_up{instance="a"}', 0),
      },
    ],
    quiet: [
      constant('pg_replication_slots_slot_is_active{slot_name="a", slot_type="physical"}', 1),
      constant('pg_replication_slots_slot_is_active{slot_name="a", slot_type="logical"}', 0),
      {
        ...constant('cnpg_pg_replication_in_recovery{instance="a"}', 1),
        ...constant('cnpg_pg_replication_is_wal_receiver_up{instance="a"}', 1),
        ...constant('cnpg_pg_replication_in_recovery{instance="primary"}', 0),
        ...constant('cnpg_pg_replication_is_wal_receiver_up{instance="primary"}', 0),
      },
    ],
  },
  SvcPostgresDisk: {
    at: '90m',
    fires: [
      volume('data-postgres-0', 81),
      ...['svc-1', 'svc-1-wal', 'svc-1-tbs-archive', 'svc-restored-2'].map((claim) => claimOfPod(claim, 'Cluster', 81)),
      mount('/var/lib/postgresql', 81),
    ],
    quiet: [
      volume('data-postgres-0', 80),
      mount('/var/lib/postgresql', 80),
      volume('data-other-0', 99),
      claimOfPod('svc-1', 'Cluster', 80),
      claimOfPod('other-1', 'StatefulSet', 99),
    ],
  },
  SvcPostgresWraparound: levels(
    ['pg_database_wraparound_age_datfrozenxid_seconds{instance="a", datname="b"}', 501e6, 500e6],
    ['pg_database_wraparound_age_datminmxid_seconds{instance="a", datname="b"}', 501e6, 500e6],
    ['cnpg_pg_database_xid_age{instance="a", datname="b"}', 501e6, 500e6],
    ['cnpg_pg_database_mxid_age{instance="a", datname="b"}', 501e6, 500e6],
  ),
  SvcPostgresLongTransaction: {
    at: '10m',
    fires: [
      constant(
        'pg_stat_activity_max_tx_duration{usename="a", backend_type="client backend", application_name="b"}',
        301,
      ),
      constant('cnpg_backends_max_tx_duration_seconds{usename="a", application_name="b"}', 301),
    ],
    quiet: [
      constant(
        'pg_stat_activity_max_tx_duration{usename="a", backend_type="client backend", application_name="b"}',
        300,
      ),
      constant(
        'pg_stat_activity_max_tx_duration{usename="a", backend_type="client backend", application_name="pg_dump"}',
        999,
      ),
      constant('pg_stat_activity_max_tx_duration{usename="a", backend_type="autovacuum worker"}', 999),
      constant('cnpg_backends_max_tx_duration_seconds{usename="a", application_name="b"}', 300),
    ],
  },
  SvcPostgresConnections: {
    at: '10m',
    fires: [postgresExporter(81), cloudNativePg(81)],
    quiet: [postgresExporter(80), cloudNativePg(80)],
  },
  SvcBackupOld: {
    at: '30m',
    fires: [
      constant('barman_cloud_cloudnative_pg_io_last_available_backup_timestamp{job="pg"}', -26 * HOUR),
      // The test's clock starts at 0, so an earlier backup has a negative time. The time 0 means that there is no backup yet.
      constant('cnpg_collector_last_available_backup_timestamp{job="pg"}', -26 * HOUR),
      constant('pgbackrest_backup_since_last_completion_seconds{stanza="svc", backup_type="full"}', 27 * HOUR),
    ],
    quiet: [
      {
        ...constant('barman_cloud_cloudnative_pg_io_last_available_backup_timestamp{job="pg"}', -25 * HOUR),
        // With the plugin, the operator's own metric does not know of any backup.
        ...constant('cnpg_collector_last_available_backup_timestamp{job="pg"}', -999 * HOUR),
      },
      constant('cnpg_collector_last_available_backup_timestamp{job="pg"}', -25 * HOUR),
      {
        ...constant('pgbackrest_backup_since_last_completion_seconds{stanza="svc", backup_type="full"}', 99 * HOUR),
        ...constant('pgbackrest_backup_since_last_completion_seconds{stanza="svc", backup_type="incr"}', 25 * HOUR),
      },
    ],
  },
  SvcWalArchiveFailing: {
    at: '40m',
    fires: [
      { 'pg_stat_archiver_failed_count{instance="a"}': '0+1x120' },
      {
        ...constant('cnpg_pg_stat_archiver_last_failed_time{instance="a"}', 50),
        ...constant('cnpg_pg_stat_archiver_last_archived_time{instance="a"}', 40),
      },
    ],
    quiet: [
      { 'pg_stat_archiver_failed_count{instance="a"}': '5x120' },
      {
        ...constant('cnpg_pg_stat_archiver_last_failed_time{instance="a"}', -1),
        ...constant('cnpg_pg_stat_archiver_last_archived_time{instance="a"}', 40),
      },
    ],
  },
  SvcEdgeUnreachable: {
    at: '10m',
    fires: [constant('probe_success{job="svc-edge", instance="https://api.example.org/v2/health"}', 0)],
    quiet: [
      { 'probe_success{job="svc-edge", instance="https://api.example.org/v2/health"}': '1 0 0 1 0 0 1 0 0 1 0 0 1' },
      constant('probe_success{job="blackbox", instance="https://other.example.org/"}', 0),
    ],
  },
  SvcCrashLooping: {
    at: '30m',
    fires: longLivedContainers().map(([workload, container]) => ({
      [crashLoop(workload, container)]: '_x4 1 _ _ 1 _ _ 1x3 _ _ _ 1x40',
    })),
    quiet: [
      { [crashLoop('other', 'service')]: '1x60' },
      { [crashLoop('gateway', 'sidecar')]: '1x60' },
      // One restart, as after the loss of a node.
      { [crashLoop('messaging', 'service')]: '_x14 1x2' },
    ],
  },
  SvcMigrationFailed: {
    at: '20m',
    fires: [
      constant(`kube_job_failed{${job('migrate-messaging')}, condition="true"}`, 1),
      {
        ...constant(`kube_job_status_active{${job('roles-budget')}}`, 1),
        ...constant(`kube_job_status_start_time{${job('roles-budget')}}`, 0),
      },
    ],
    quiet: [
      constant(`kube_job_failed{${job('migrate-messaging')}, condition="true"}`, 0),
      constant(`kube_job_failed{${job('verify-books-1')}, condition="true"}`, 1),
      {
        ...constant(`kube_job_status_active{${job('roles-budget')}}`, 1),
        ...constant(`kube_job_status_start_time{${job('roles-budget')}}`, 600),
      },
      {
        ...constant(`kube_job_status_active{${job('roles-budget')}}`, 0),
        ...constant(`kube_job_status_start_time{${job('roles-budget')}}`, 0),
      },
    ],
  },
  SvcVerifyFailed: {
    at: '30m',
    fires: [verified(1, { created: '0x60', status_last_successful_time: '50x60' }), verified(1, { created: '0x60' })],
    quiet: [
      verified(0, { created: '0x60', status_last_successful_time: '50x60' }),
      // A later run succeeded.
      verified(1, { created: '0x60', status_last_successful_time: '150x60' }),
    ],
  },
  SvcVerifyOverdue: {
    at: '30m',
    fires: [
      cronJob({ created: `${-99 * HOUR}x60`, status_last_successful_time: `${-36 * HOUR}x60` }),
      cronJob({ created: `${-37 * HOUR}x60` }),
    ],
    quiet: [
      cronJob({ created: `${-99 * HOUR}x60`, status_last_successful_time: `${-35 * HOUR}x60` }),
      cronJob({ created: `${-35 * HOUR}x60` }),
    ],
  },
  SvcBackupJobFailed: {
    at: '30m',
    fires: [
      jobOf('backup', 1, { created: '0x60', status_last_successful_time: '50x60' }),
      jobOf('drill', 1, { created: '0x60' }),
      cronJob({ created: `${-99 * HOUR}x60`, status_last_successful_time: `${-30 * HOUR}x60` }, 'drill'),
      cronJob({ created: `${-31 * HOUR}x60` }, 'backup'),
      // A good backup does not hide a bad drill.
      {
        ...jobOf('backup', 0, { created: '0x60', status_last_successful_time: '150x60' }),
        ...jobOf('drill', 1, { created: '0x60', status_last_successful_time: '50x60' }),
      },
    ],
    quiet: [
      jobOf('backup', 0, { created: '0x60', status_last_successful_time: '50x60' }),
      // A later run succeeded.
      jobOf('drill', 1, { created: '0x60', status_last_successful_time: '150x60' }),
      cronJob({ created: `${-99 * HOUR}x60`, status_last_successful_time: `${-29 * HOUR}x60` }, 'drill'),
      jobOf('other', 1, { created: '0x60', status_last_successful_time: '50x60' }),
    ],
  },
  SvcNatsCertificateOld: {
    at: '1550m',
    fires: [natsCertificate(100, 200)],
    quiet: [natsCertificate(200, 100), { ...natsCertificate(200, 100), ...natsCertificate(100, 200, 'other') }],
  },
  SvcCertificateExpiring: {
    at: '90m',
    fires: [certificate(13 * DAY, 60), constant('probe_ssl_earliest_cert_expiry{instance="a"}', 14 * DAY)],
    quiet: [
      certificate(15 * DAY, 60),
      // A short-lived certificate whose renewal is not due yet.
      certificate(DAY, HOUR * 12),
      constant('probe_ssl_earliest_cert_expiry{instance="a"}', 15 * DAY),
    ],
  },
  SvcExporterGone: {
    at: '30m',
    fires: [...Object.keys(ALL_EXPORTERS).map((gone) => without(ALL_EXPORTERS, gone)), TWO_DEPLOYMENTS],
    quiet: [ALL_EXPORTERS, CLOUDNATIVE_PG, CHART_OF_NATS],
  },
}

/** CloudNativePG's pods belong to an object of the kind Cluster, and their claims are named after them. */
function claimOfPod(claim: string, owner: string, used: number): Series {
  const pod = claim.replace(/-(wal|tbs-.*)$/, '')
  return {
    ...volume(claim, used),
    ...constant(
      `kube_pod_spec_volumes_persistentvolumeclaims_info{namespace="svc", pod="${pod}", volume="a", persistentvolumeclaim="${claim}", uid="b"}`,
      1,
    ),
    ...constant(
      `kube_pod_owner{namespace="svc", pod="${pod}", owner_kind="${owner}", owner_name="c", owner_is_controller="true", uid="b"}`,
      1,
    ),
  }
}

/** Those of `production`, each with the name of its Deployment or StatefulSet. */
function longLivedContainers(): (readonly [workload: string, container: string])[] {
  return workloadsOf(render(`${KUBERNETES}/overlays/production`))
    .filter(({ manifest: { kind } }) => kind === 'Deployment' || kind === 'StatefulSet')
    .flatMap(({ manifest, containers }) => containers.map(({ name }) => [manifest.metadata.name, name] as const))
}

function crashLoop(workload: string, container: string): string {
  return `kube_pod_container_status_waiting_reason{namespace="svc", pod="${workload}-5d9c7b-x2x4p", container="${container}", reason="CrashLoopBackOff", uid="b"}`
}

function verified(failed: number, times: Readonly<Record<string, string>>): Series {
  return jobOf('verify-books', failed, times)
}

/** A run that began at 100 s. */
function jobOf(cronjob: string, failed: number, times: Readonly<Record<string, string>>): Series {
  return {
    ...cronJob(times, cronjob),
    ...constant(`kube_job_status_start_time{${job(`${cronjob}-1`)}}`, 100),
    ...constant(`kube_job_failed{${job(`${cronjob}-1`)}, condition="true"}`, failed),
  }
}

function natsCertificate(started: number, renewed: number, name = 'nats-tls'): Series {
  return {
    'kube_pod_container_state_started{namespace="svc", pod="nats-0", container="nats", uid="b"}': `${started}x1600`,
    [`certmanager_certificate_not_before_timestamp_seconds{namespace="svc", name="${name}"}`]: `${renewed}x1600`,
  }
}

function certificate(expires: number, renewal: number): Series {
  return {
    ...constant('certmanager_certificate_expiration_timestamp_seconds{namespace="svc", name="nats"}', expires),
    ...constant('certmanager_certificate_renewal_timestamp_seconds{namespace="svc", name="nats"}', renewal),
  }
}

function postgresExporter(connections: number): Series {
  return {
    ...constant('pg_stat_activity_count{instance="a", state="idle", datname="svc"}', connections - 1),
    ...constant('pg_stat_activity_count{instance="a", state="active", datname="svc"}', 1),
    ...constant('pg_settings_max_connections{instance="a"}', 100),
  }
}

function cloudNativePg(connections: number): Series {
  return {
    ...constant('cnpg_backends_total{instance="a", state="idle"}', connections),
    ...constant('cnpg_pg_settings_setting{instance="a", name="max_connections"}', 100),
    ...constant('cnpg_pg_settings_setting{instance="a", name="port"}', 5432),
  }
}

function without(series: Series, name: string | RegExp): Series {
  return Object.fromEntries(
    Object.entries(series).filter(([key]) => (typeof name === 'string' ? key !== name : !name.test(key))),
  )
}
