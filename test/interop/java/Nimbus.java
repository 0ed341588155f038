// Runs Nimbus through what a task asks for: discovery, a token of a machine, verification. ../driver.ts has the protocol.
import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.source.JWKSourceBuilder;
import com.nimbusds.jose.proc.DefaultJOSEObjectTypeVerifier;
import com.nimbusds.jose.proc.JWSVerificationKeySelector;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jose.util.JSONObjectUtils;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.proc.DefaultJWTClaimsVerifier;
import com.nimbusds.jwt.proc.DefaultJWTProcessor;
import com.nimbusds.oauth2.sdk.ClientCredentialsGrant;
import com.nimbusds.oauth2.sdk.Scope;
import com.nimbusds.oauth2.sdk.TokenRequest;
import com.nimbusds.oauth2.sdk.TokenResponse;
import com.nimbusds.oauth2.sdk.auth.ClientAuthentication;
import com.nimbusds.oauth2.sdk.auth.ClientSecretBasic;
import com.nimbusds.oauth2.sdk.auth.PrivateKeyJWT;
import com.nimbusds.oauth2.sdk.auth.Secret;
import com.nimbusds.oauth2.sdk.id.ClientID;
import com.nimbusds.oauth2.sdk.id.Issuer;
import com.nimbusds.openid.connect.sdk.op.OIDCProviderMetadata;
import java.net.URI;
import java.security.KeyFactory;
import java.security.interfaces.ECPrivateKey;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Map;
import java.util.Set;

public class Nimbus {
    public static void main(String[] args) throws Exception {
        Map<String, Object> task = JSONObjectUtils.parse(args[0]);
        OIDCProviderMetadata metadata = OIDCProviderMetadata.resolve(new Issuer((String) task.get("issuer")));
        Map<String, Object> result = switch ((String) task.get("client")) {
            case "discover" -> Map.of(
                "token_endpoint", metadata.getTokenEndpointURI().toString(),
                "algorithms", metadata.getIDTokenJWSAlgs().stream().map(JWSAlgorithm::getName).toList());
            case "machine" -> machine(metadata, withSecret(task), task);
            case "machine-key" -> machine(metadata, withKey(metadata, task), task);
            default -> verify(metadata, task);
        };
        System.out.println(JSONObjectUtils.toJSONString(Map.of("result", result)));
    }

    static ClientAuthentication withSecret(Map<String, Object> task) {
        return new ClientSecretBasic(
            new ClientID((String) task.get("client_id")), new Secret((String) task.get("client_secret")));
    }

    static ClientAuthentication withKey(OIDCProviderMetadata metadata, Map<String, Object> task) throws Exception {
        var text = ((String) task.get("private_key")).replaceAll("-----[A-Z ]+-----|\\s", "");
        var spec = new PKCS8EncodedKeySpec(Base64.getDecoder().decode(text));
        var key = (ECPrivateKey) KeyFactory.getInstance("EC").generatePrivate(spec);
        return new PrivateKeyJWT(
            new ClientID((String) task.get("client_id")), metadata.getTokenEndpointURI(), JWSAlgorithm.ES256,
            key, (String) task.get("kid"), null);
    }

    static Map<String, Object> machine(
        OIDCProviderMetadata metadata, ClientAuthentication client, Map<String, Object> task) throws Exception {
        var request = new TokenRequest.Builder(metadata.getTokenEndpointURI(), client, new ClientCredentialsGrant())
            .scope(new Scope("mcp:read"))
            .resource(URI.create((String) task.get("server")))
            .build();
        var response = TokenResponse.parse(request.toHTTPRequest().send());
        if (!response.indicatesSuccess()) throw new Exception(response.toErrorResponse().getErrorObject().toString());
        return Map.of("access_token", response.toSuccessResponse().getTokens().getAccessToken().getValue());
    }

    static Map<String, Object> verify(OIDCProviderMetadata metadata, Map<String, Object> task) throws Exception {
        var processor = new DefaultJWTProcessor<SecurityContext>();
        processor.setJWSTypeVerifier(new DefaultJOSEObjectTypeVerifier<>(new JOSEObjectType("at+jwt")));
        var keys = JWKSourceBuilder.create(metadata.getJWKSetURI().toURL()).build();
        processor.setJWSKeySelector(new JWSVerificationKeySelector<>(JWSAlgorithm.ES256, keys));
        var claims = new JWTClaimsSet.Builder().issuer(metadata.getIssuer().getValue()).build();
        processor.setJWTClaimsSetVerifier(
            new DefaultJWTClaimsVerifier<>((String) task.get("server"), claims, Set.of("exp", "sub")));
        return processor.process((String) task.get("token"), null).toJSONObject();
    }
}
