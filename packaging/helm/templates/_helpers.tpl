{{/* Objects have the name of their release, unless that is the chart's. */}}
{{- define "heddle.name" -}}
{{- if eq .Release.Name .Chart.Name -}}
{{- .Chart.Name -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* By which a service finds its pods. */}}
{{- define "heddle.selector" -}}
app.kubernetes.io/name: heddle
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "heddle.labels" -}}
{{ include "heddle.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* What a container of heddle has, whichever command it executes. */}}
{{- define "heddle.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
envFrom:
  - configMapRef:
      name: {{ include "heddle.name" . }}
env:
  - name: HEDDLE_LISTEN
    value: 0.0.0.0:8080
  - name: HEDDLE_METRICS_LISTEN
    value: 0.0.0.0:9090
  - name: HEDDLE_DATA_DIR
    value: /var/lib/heddle
  - name: HEDDLE_LOG_FORMAT
    value: json
  # Secrets by reference: the values are in files, which are in memory and not in the environment.
  - name: HEDDLE_DATABASE_URL_FILE
    value: /run/secrets/heddle/database-url
  - name: HEDDLE_MASTER_KEY_FILE
    value: /run/secrets/heddle/master-key
  - name: HEDDLE_JWT_SECRET_FILE
    value: /run/secrets/heddle/jwt-secret
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
volumeMounts:
  - name: data
    mountPath: /var/lib/heddle
  - name: temporary
    mountPath: /tmp
  - name: secrets
    mountPath: /run/secrets/heddle
    readOnly: true
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: ["ALL"]
resources:
  {{- toYaml .Values.resources | nindent 2 }}
{{- end -}}
