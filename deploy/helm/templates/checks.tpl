{{- /* What values.schema.json cannot say, or not in words that help. All problems are reported together. */ -}}
{{- $components := .Values.components }}
{{- $problems := list }}
{{- if not .Values.images.svc }}
{{- $problems = append $problems "images.svc is not set. Set it to the image that you have built, with its digest." }}
{{- end }}
{{- if not .Values.place.HOST }}
{{- $problems = append $problems "place.HOST is not set. Set it to the public host, for which agents sign their requests." }}
{{- end }}
{{- if not .Values.place.TRUSTED_PROXIES }}
{{- $problems = append $problems "place.TRUSTED_PROXIES is not set. Set it to the addresses from which your proxies reach the gateways, or to none (docs/operating/proxies.md)." }}
{{- end }}
{{- range list (list "nats" "external-nats") (list "postgres" "external-postgres") }}
{{- if eq (index $components (first .)) (index $components (last .)) }}
{{- $problems = append $problems (printf "components: exactly one of %s must be true." (join " and " .)) }}
{{- end }}
{{- end }}
{{- $edges := list }}
{{- range list "gateway-api" "ingress" "openshift" }}
{{- if index $components . }}{{ $edges = append $edges . }}{{ end }}
{{- end }}
{{- if gt (len $edges) 1 }}
{{- $problems = append $problems (printf "components: only one of %s can be true." (join " and " $edges)) }}
{{- end }}
{{- if and (index $components "nats-tls") (not (and $components.nats (index $components "nats-client-tls"))) }}
{{- $problems = append $problems "components: nats-tls needs nats and nats-client-tls." }}
{{- end }}
{{- if and $components.nats (gt (int .Values.settings.SVC_NATS_REPLICAS) (int .Values.nats.replicas)) }}
{{- $problems = append $problems "settings.SVC_NATS_REPLICAS is greater than nats.replicas, the number of servers." }}
{{- end }}
{{- range $service, $values := .Values.services }}
{{- if gt (int $values.minReplicas) (int $values.maxReplicas) }}
{{- $problems = append $problems (printf "services.%s: minReplicas is greater than maxReplicas." $service) }}
{{- end }}
{{- end }}
{{- if $problems }}
{{- fail (join "\n- " (prepend $problems "The values are not complete:")) }}
{{- end }}
