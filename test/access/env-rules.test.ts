import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { dangerousEnvVars, envVarRule } from '../../src/access/env-rules.ts';

/** Names with which some SDK, runtime or shell was seen to send a credential away, or to run or trust something else. */
const attacks = `
  AWS_ENDPOINT_URL AWS_ENDPOINT_URL_STS AWS_WEB_IDENTITY_TOKEN_FILE AWS_CONTAINER_CREDENTIALS_FULL_URI
  AWS_CONTAINER_CREDENTIALS_RELATIVE_URI AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE AWS_CONFIG_FILE AWS_CA_BUNDLE
  AWS_SHARED_CREDENTIALS_FILE AWS_EC2_METADATA_SERVICE_ENDPOINT AWS_STS_REGIONAL_ENDPOINTS AWS_PROFILE BOTO_CONFIG
  AZURE_AUTHORITY_HOST AZURE_FEDERATED_TOKEN_FILE AZURE_CLIENT_CERTIFICATE_PATH AZURE_CONFIG_DIR IDENTITY_ENDPOINT
  MSI_ENDPOINT AZURE_ENVIRONMENT_FILEPATH AZURE_POD_IDENTITY_AUTHORITY_HOST AZURE_REGIONAL_AUTHORITY_NAME
  AZURE_KUBERNETES_TOKEN_PROXY AZURE_KUBERNETES_SNI_NAME AZURE_KUBERNETES_CA_DATA AZURE_KUBERNETES_CA_FILE
  GOOGLE_APPLICATION_CREDENTIALS GCE_METADATA_HOST GCE_METADATA_IP GCE_METADATA_ROOT CLOUDSDK_CONFIG
  CLOUDSDK_API_ENDPOINT_OVERRIDES_CONTAINER CLOUDSDK_AUTH_ACCESS_TOKEN_FILE GOOGLE_CLOUD_UNIVERSE_DOMAIN
  GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES GOOGLE_API_CERTIFICATE_CONFIG CLOUDSDK_PYTHON
  VAULT_ADDR VAULT_AGENT_ADDR VAULT_PROXY_ADDR VAULT_CACERT VAULT_CAPATH VAULT_SKIP_VERIFY VAULT_TLS_SERVER_NAME
  SPIFFE_ENDPOINT_SOCKET OIDC_ISSUER OIDC_ISSUER_URL KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT
  KUBERNETES_PORT_443_TCP_ADDR KUBECONFIG KUBECACHEDIR DOCKER_HOST DOCKER_CONFIG DBUS_SESSION_BUS_ADDRESS
  SSH_AUTH_SOCK PGHOST PGHOSTADDR PGSSLMODE PGPASSFILE
  LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES GCONV_PATH GLIBC_TUNABLES MALLOC_TRACE LOCPATH NLSPATH
  PATH NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED BUN_OPTIONS DENO_DIR DENO_CERT
  DENO_TLS_CA_STORE PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTHONHTTPSVERIFY PERL5LIB PERL5OPT PERL5DB PERLLIB
  RUBYOPT RUBYLIB GEM_PATH GEM_HOME BUNDLE_GEMFILE LUA_INIT LUA_INIT_5_3 LUA_PATH LUA_CPATH PHPRC PHP_INI_SCAN_DIR
  CLASSPATH JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS JAVA_OPTS DOTNET_STARTUP_HOOKS CORECLR_PROFILER_PATH
  COMPLUS_PROFILER ERL_FLAGS ERL_AFLAGS ELIXIR_ERL_OPTIONS GHCRTS OCAMLRUNPARAM R_HOME R_PROFILE_USER GOROOT GOFLAGS
  GODEBUG GOTRACEBACK GOCOVERDIR GIO_EXTRA_MODULES QT_PLUGIN_PATH GTK_MODULES
  BASH_ENV BASH_FUNC_ls%% BASHOPTS SHELLOPTS SHELL ENV IFS PS4 PROMPT_COMMAND ZDOTDIR FPATH CDPATH EDITOR VISUAL PAGER
  BROWSER LESSOPEN LESSCLOSE GIT_SSH_COMMAND GIT_ASKPASS GIT_EXEC_PATH SSH_ASKPASS SUDO_ASKPASS
  SSL_CERT_FILE SSL_CERT_DIR NIX_SSL_CERT_FILE SSLKEYLOGFILE CURL_CA_BUNDLE REQUESTS_CA_BUNDLE GIT_SSL_CAINFO
  GRPC_DEFAULT_SSL_ROOTS_FILE_PATH GRPC_PROXY_EXP OPENSSL_CONF OPENSSL_MODULES OPENSSL_ENGINES PIP_CERT
  HTTP_PROXY HTTPS_PROXY ALL_PROXY FTP_PROXY NO_PROXY CGI_HTTP_PROXY HOSTALIASES LOCALDOMAIN RES_OPTIONS RESOLV_HOST_CONF
  HOME USERPROFILE XDG_CONFIG_HOME XDG_CACHE_HOME CURL_HOME NETRC WGETRC LDAPRC LDAPCONF KRB5_CONFIG KRB5CCNAME TMPDIR
  TMP TEMP PATHEXT OTEL_EXPORTER_OTLP_ENDPOINT
  AZURE_EXTENSION_DEV_SOURCES AZURE_CLOUD_NAME AZURE_CLOUD AZURE_ENVIRONMENT ARM_ENVIRONMENT TZ TZDIR JAVACMD
  AWS_VAULT_PASS_CMD SOPS_AGE_KEY_CMD RSYNC_RSH SVN_SSH GIT_SSH KUBECTL_EXTERNAL_DIFF MAVEN_ARGS GRPC_XDS_BOOTSTRAP
  VAULT_CLIENT_KEY CONSUL_CLIENT_KEY OCI_RESOURCE_PRINCIPAL_PRIVATE_PEM TERMINFO TERMINFO_DIRS ICU_DATA ODBCINI
  ODBCSYSINI SENTRY_DSN DD_SITE DISPLAY AWS_CONTAINER_AUTHORIZATION_TOKEN ARM_OIDC_TOKEN AZURE_CLIENT_SECRET
  AWS_SECRET_ACCESS_KEY GOOGLE_CREDENTIALS GOOGLE_CREDS PGPASSWORD
`
  .trim()
  .split(/\s+/);

/** What a cluster manager has reason to publish; the first two are the specification's own. */
const ordinary = `
  CLIENT_ID TENANT_ID CLUSTER CLUSTER_NAME CLUSTER_ID PROJECT CLOUD_PROJECT GOOGLE_CLOUD_PROJECT REGION LOCATION ZONE
  AWS_REGION AWS_DEFAULT_REGION AWS_ROLE_ARN AWS_ROLE_SESSION_NAME AWS_ACCOUNT_ID AZURE_CLIENT_ID AZURE_TENANT_ID
  AZURE_DIRECTORY_ID AZURE_SUBSCRIPTION_ID SERVER_ID RESOURCE_GROUP SECURITY_GROUP VAULT_NAMESPACE
  VAULT_ROLE SERVICE_ACCOUNT AUDIENCE SCOPES NAMESPACE TEAM STAGE SPIFFE_ID cluster_name
`
  .trim()
  .split(/\s+/);

/** Nobody knows what these do: the next SDK may have any of them. */
const unknown =
  'FOO A ENVIRONMENT LOG_LEVEL AAD_LOGIN_METHOD GPG_AGENT_INFO LANGUAGE GMON_OUT_PREFIX UV_USE_IO_URING X-ID NAMES __proto__'.split(
    ' ',
  );

describe('a variable that a profile may not set', () => {
  test('is any that makes a plugin run other code, read other files, talk to other servers or trust others', () => {
    assert.deepEqual(
      attacks.filter((name) => envVarRule(undefined)(name, 'v') === undefined),
      [],
    );
    assert.deepEqual(
      attacks.filter((name) => envVarRule(['*'])(name.toLowerCase(), 'v') === undefined),
      [],
    );
  });

  test('is none of those that name a cluster, a project, a region or a client', () => {
    assert.deepEqual(
      ordinary.filter((name) => envVarRule(undefined)(name, 'v') !== undefined),
      [],
    );
  });

  test('is any that nobody knows, unless allowedEnvVars lets it in', () => {
    for (const name of unknown) {
      assert.match(
        envVarRule(undefined)(name, 'v') ?? '',
        /is no name that profiles may set .* list it in allowedEnvVars$/,
      );
      assert.equal(envVarRule([name])(name, 'v'), undefined);
      assert.equal(envVarRule([`${name.slice(0, -1)}*`])(name, 'v'), undefined);
    }
  });

  test('has no path, URL or option for a value, unless allowedEnvVars lets it in', () => {
    for (const value of [
      '/etc/x',
      './x',
      '../x',
      '~/x',
      'C:\\x',
      'https://evil',
      'a/../../x',
      '--flag',
      '-x',
      '\\\\h\\x',
    ]) {
      assert.match(
        envVarRule(undefined)('CLUSTER_NAME', value) ?? '',
        /^has a value that is a path, a URL or an option/,
      );
      assert.equal(envVarRule(['CLUSTER_*'])('CLUSTER_NAME', value), undefined);
    }
    for (const value of ['', 'x', 'arn:aws:iam::1:role/x', 'a.b-c_d', 'projects/p/locations/l', '1.2.3', 'a b']) {
      assert.equal(envVarRule(undefined)('CLUSTER_NAME', value), undefined, value);
    }
  });

  test('is opened by its exact name, and by nothing else', () => {
    for (const name of attacks) {
      assert.equal(envVarRule([name])(name, '/path'), undefined, name);
      assert.ok(envVarRule(['*', `${name.slice(0, -1)}*`, `${name}*`, name.toLowerCase()])(name, 'v'), name);
    }
  });

  test('is told what it does, by which pattern, and how the operator opens it', () => {
    assert.equal(
      envVarRule(undefined)('AWS_ENDPOINT_URL_STS', 'v'),
      'is a variable that says which server the plugin talks to (*URL*): only its exact name in allowedEnvVars opens it',
    );
  });

  test('has no way around by letters of another case', () => {
    const patterns = dangerousEnvVars.flatMap(({ names }) => names);
    fc.assert(
      fc.property(fc.constantFrom(...patterns), fc.infiniteStream(fc.boolean()), (pattern, upper) => {
        const name = [...pattern.replaceAll('*', 'abc')]
          .map((letter) => (upper.next().value ? letter.toUpperCase() : letter.toLowerCase()))
          .join('');
        assert.ok(envVarRule(undefined)(name, 'v'), name);
        assert.ok(envVarRule(['*'])(name, 'v'), name);
      }),
    );
  });
});
