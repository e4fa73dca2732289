{{- define "perseid.name" -}}
{{- if contains "perseid" .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-perseid" .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "perseid.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "perseid.selector" . }}
{{- end -}}

{{- define "perseid.selector" -}}
app.kubernetes.io/name: perseid
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "perseid.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "perseid.secret" -}}
{{ .Values.existingSecret | default (include "perseid.name" .) }}
{{- end -}}

{{- define "perseid.account" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "perseid.name" .) }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end -}}
{{- end -}}

{{- define "perseid.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "perseid.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: ["ALL"]
{{- end -}}

{{- define "perseid.env" -}}
- name: PERSEID_STORE__URL
  valueFrom:
    secretKeyRef:
      name: {{ include "perseid.secret" . }}
      key: store-url
- name: PERSEID_DELIVERY__URL
  valueFrom:
    secretKeyRef:
      name: {{ include "perseid.secret" . }}
      key: delivery-url
      optional: true
- name: PERSEID_LIMIT__URL
  valueFrom:
    secretKeyRef:
      name: {{ include "perseid.secret" . }}
      key: limit-url
      optional: true
{{- if .Values.blobs.existingClaim }}
- name: PERSEID_STORE__BLOB_FOLDER
  value: /blobs
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: PERSEID_{{ $name | replace "." "__" | upper }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "perseid.mounts" -}}
- name: data
  mountPath: /data
- name: tmp
  mountPath: /tmp
{{- if .Values.blobs.existingClaim }}
- name: blobs
  mountPath: /blobs
{{- end }}
{{- end -}}

{{- define "perseid.volumes" -}}
- name: data
  emptyDir: {}
- name: tmp
  emptyDir: {}
{{- if .Values.blobs.existingClaim }}
- name: blobs
  persistentVolumeClaim:
    claimName: {{ .Values.blobs.existingClaim }}
{{- end }}
{{- end -}}
