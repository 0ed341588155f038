// Runs Spring Security through what a task asks for, without an application. ../driver.ts has the protocol.
import com.fasterxml.jackson.databind.ObjectMapper;
import com.nimbusds.jose.jwk.JWK;
import java.util.List;
import java.util.Map;
import org.springframework.security.oauth2.client.endpoint.NimbusJwtClientAuthenticationParametersConverter;
import org.springframework.security.oauth2.client.endpoint.OAuth2ClientCredentialsGrantRequest;
import org.springframework.security.oauth2.client.endpoint.RestClientClientCredentialsTokenResponseClient;
import org.springframework.security.oauth2.client.registration.ClientRegistration;
import org.springframework.security.oauth2.client.registration.ClientRegistrations;
import org.springframework.security.oauth2.core.AuthorizationGrantType;
import org.springframework.security.oauth2.core.ClientAuthenticationMethod;
import org.springframework.security.oauth2.core.DelegatingOAuth2TokenValidator;
import org.springframework.security.oauth2.core.OAuth2Error;
import org.springframework.security.oauth2.core.OAuth2TokenValidatorResult;
import org.springframework.security.oauth2.jwt.Jwt;
import org.springframework.security.oauth2.jwt.JwtClaimValidator;
import org.springframework.security.oauth2.jwt.JwtDecoder;
import org.springframework.security.oauth2.jwt.JwtDecoders;
import org.springframework.security.oauth2.jwt.JwtException;
import org.springframework.security.oauth2.jwt.JwtIssuerValidator;
import org.springframework.security.oauth2.jwt.JwtTypeValidator;
import org.springframework.security.oauth2.jwt.JwtValidators;
import org.springframework.security.oauth2.jwt.NimbusJwtDecoder;

public class Spring {
    @SuppressWarnings("unchecked")
    public static void main(String[] args) throws Exception {
        Map<String, Object> task = new ObjectMapper().readValue(args[0], Map.class);
        var issuer = (String) task.get("issuer");
        Object result = switch ((String) task.get("client")) {
            // What `issuer-uri` of a client does.
            case "discover" -> ClientRegistrations.fromIssuerLocation(issuer).clientId("x").build().getProviderDetails().getTokenUri();
            // What `issuer-uri` of a resource server does.
            case "default" -> decode(JwtDecoders.fromIssuerLocation(issuer), task);
            case "at+jwt" -> decode(atJwt(issuer, (String) task.get("server")), task);
            case "mcp" -> decode(ofMcpServerSecurity(issuer), task);
            default -> machine(issuer, task);
        };
        System.out.println(new ObjectMapper().writeValueAsString(Map.of("result", result)));
    }

    static Object decode(JwtDecoder decoder, Map<String, Object> task) {
        try {
            var jwt = decoder.decode((String) task.get("token"));
            return Map.of("sub", jwt.getSubject(), "aud", jwt.getAudience());
        } catch (JwtException error) {
            return Map.of("refused", error.getMessage());
        }
    }

    // docs/guides/spring.md shows it.
    static JwtDecoder atJwt(String issuer, String resource) {
        NimbusJwtDecoder decoder = NimbusJwtDecoder.withIssuerLocation(issuer).validateType(false).build();
        decoder.setJwtValidator(new DelegatingOAuth2TokenValidator<>(
            JwtValidators.createDefaultWithValidators(
                new JwtTypeValidator("at+jwt"),
                new JwtIssuerValidator(issuer),
                new JwtClaimValidator<List<String>>("aud", aud -> aud != null && aud.contains(resource))),
            Spring::isUnbound));
        return decoder;
    }

    // A token with `cnf` needs a DPoP proof, which a bearer token filter does not check.
    static OAuth2TokenValidatorResult isUnbound(Jwt jwt) {
        return jwt.hasClaim("cnf")
            ? OAuth2TokenValidatorResult.failure(new OAuth2Error("invalid_token", "the token needs a DPoP proof", null))
            : OAuth2TokenValidatorResult.success();
    }

    // The decoder that mcp-server-security makes of the address of an authorization server.
    static JwtDecoder ofMcpServerSecurity(String issuer) throws Exception {
        var type = Class.forName("org.springaicommunity.mcp.security.server.config.McpServerOAuth2Configurer");
        var configurer = type.getMethod("mcpServerOAuth2").invoke(null);
        var decoder = type.getDeclaredMethod("getJwtDecoder", String.class);
        decoder.setAccessible(true);
        return (JwtDecoder) decoder.invoke(configurer, issuer);
    }

    // With a key, if the task has one.
    @SuppressWarnings("unchecked")
    static Object machine(String issuer, Map<String, Object> task) throws Exception {
        var key = (Map<String, Object>) task.get("jwk");
        var method = key == null ? ClientAuthenticationMethod.CLIENT_SECRET_BASIC : ClientAuthenticationMethod.PRIVATE_KEY_JWT;
        ClientRegistration registration = ClientRegistrations.fromIssuerLocation(issuer)
            .clientId((String) task.get("client_id"))
            .clientSecret((String) task.get("client_secret"))
            .clientAuthenticationMethod(method)
            .authorizationGrantType(AuthorizationGrantType.CLIENT_CREDENTIALS)
            .build();
        var client = new RestClientClientCredentialsTokenResponseClient();
        if (key != null) {
            JWK jwk = JWK.parse(key);
            client.addParametersConverter(new NimbusJwtClientAuthenticationParametersConverter<>(of -> jwk));
        }
        var response = client.getTokenResponse(new OAuth2ClientCredentialsGrantRequest(registration));
        return Map.of("access_token", response.getAccessToken().getTokenValue());
    }
}
