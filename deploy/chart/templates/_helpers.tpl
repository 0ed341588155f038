{{- define "service.selector" -}}
app: {{ .Release.Name }}
{{- end }}

{{- define "service.labels" -}}
app: {{ .Release.Name }}
app.kubernetes.io/name: service
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "service.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "service.postgres" -}}
{{- if eq (dig "storage" "driver" "sqlite" .Values.config) "postgres" }}true{{ end }}
{{- end }}

{{- /* With SQLite no second process on another node can open the file, so the server deletes expired rows itself. */ -}}
{{- define "service.config" -}}
{{- $given := deepCopy .Values.config }}
{{- if and .Values.ingress.enabled (not (dig "server" "trusted_proxies" list $given)) }}
{{- fail "config.server.trusted_proxies must have the addresses of the ingress controller: without them all users share its address, with its limits and lockouts" }}
{{- end }}
{{- if not (include "service.postgres" .) }}
{{- $given = mergeOverwrite (dict "retention" (dict "enabled" true)) $given }}
{{- end }}
{{- toYaml $given }}
{{- end }}

{{- define "service.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
fsGroup: 1000
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "service.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "service.environment" -}}
envFrom:
  - secretRef: { name: {{ .Values.secretName }} }
{{- with .Values.env }}
env:
  {{- range $name, $value := . }}
  - { name: {{ $name }}, value: {{ $value | quote }} }
  {{- end }}
{{- end }}
{{- end }}
