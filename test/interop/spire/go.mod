module parts/spire

go 1.24.0

require github.com/spiffe/spire v1.13.3

// The version that SPIRE names is not in the checksum database.
replace github.com/GoogleCloudPlatform/cloudsql-proxy => github.com/GoogleCloudPlatform/cloudsql-proxy v1.37.8
