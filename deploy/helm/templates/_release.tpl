{{/* The end of a job's name. A job cannot be changed, so whatever changes the jobs gives them new names. */}}
{{- define "svc.release" -}}
{{ list .Chart.Version .Values.images.svc .Values.components | toJson | sha256sum | trunc 10 }}
{{- end }}
