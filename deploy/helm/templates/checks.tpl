{{- /* What values.schema.json cannot say, or not in words that help. All problems are reported together. */ -}}
{{- $components := .Values.components }}
{{- $problems := list }}
{{- if not .Values.images.svc }}
{{- $problems = append $problems "images.svc is not set. Set it to the image that you have built, with its digest: registry.example.org/svc@sha256:…" }}
{{- end }}
{{- if not .Values.place.HOST }}
{{- $problems = append $problems "place.HOST is not set. Set it to the host that agents call, such as agents.example.org. They sign their requests for it." }}
{{- end }}
{{- if not .Values.place.TRUSTED_PROXIES }}
{{- $problems = append $problems "place.TRUSTED_PROXIES is not set. Set it to the addresses from which your proxies reach the gateways, or to none if there is no proxy (docs/operating/proxies.md)." }}
{{- end }}
{{- range list (list "nats" "external-nats") (list "postgres" "external-postgres") }}
{{- if eq (index $components (first .)) (index $components (last .)) }}
{{- $problems = append $problems (printf "components: exactly one of %s must be true. The first runs it here, the second connects to yours." (join " and " .)) }}
{{- end }}
{{- end }}
{{- $edges := list }}
{{- range list "gateway-api" "ingress" "openshift" }}
{{- if index $components . }}{{ $edges = append $edges . }}{{ end }}
{{- end }}
{{- if gt (len $edges) 1 }}
{{- $problems = append $problems (printf "components: only one of %s can be true. Set the others to false." (join " and " $edges)) }}
{{- end }}
{{- if and (index $components "nats-tls") (not (and $components.nats (index $components "nats-client-tls"))) }}
{{- $problems = append $problems "components: nats-tls needs nats and nats-client-tls. Set both to true, or nats-tls to false." }}
{{- end }}
{{- if and $components.nats (gt (int .Values.settings.SVC_NATS_REPLICAS) (int .Values.nats.replicas)) }}
{{- $problems = append $problems "settings.SVC_NATS_REPLICAS is greater than nats.replicas, the number of servers. Each copy needs a server of its own, so lower the first." }}
{{- end }}
{{- if and $components.nats (gt (int64 .Values.settings.SVC_STREAM_MAX_BYTES) (int64 .Values.nats.maxFileStore)) }}
{{- $problems = append $problems "settings.SVC_STREAM_MAX_BYTES is greater than nats.maxFileStore, which NATS may store. Lower the first to four fifths of the second." }}
{{- end }}
{{- range $service, $values := .Values.services }}
{{- if gt (int $values.minReplicas) (int $values.maxReplicas) }}
{{- $problems = append $problems (printf "services.%s: minReplicas is greater than maxReplicas. Lower the first, or raise the second." $service) }}
{{- end }}
{{- end }}
{{- if and (index $components "socket-buffers") (semverCompare "<1.32-0" .Capabilities.KubeVersion.Version) }}
{{- $problems = append $problems (printf "components: socket-buffers needs Kubernetes 1.32, and this cluster has %s. Set it to false." .Capabilities.KubeVersion.Version) }}
{{- end }}
{{- if $problems }}
{{- fail (join "\n- " (prepend $problems "The values cannot be used as they are:")) }}
{{- end }}
