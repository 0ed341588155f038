// Reads the metadata of a transmitter, a stream and security event tokens with the classes that Keycloak has for them, and verifies the tokens.
// Its argument is a JSON object with the members metadata, stream, jwks and sets. Prints one line with a JSON object.
import com.fasterxml.jackson.databind.JsonNode;
import java.security.Signature;
import java.util.*;
import org.keycloak.common.crypto.CryptoIntegration;
import org.keycloak.crypto.def.DefaultCryptoProvider;
import org.keycloak.jose.jwk.*;
import org.keycloak.jose.jws.JWSInput;
import org.keycloak.ssf.event.*;
import org.keycloak.ssf.event.caep.*;
import org.keycloak.ssf.event.stream.*;
import org.keycloak.ssf.event.token.SsfSecurityEventToken;
import org.keycloak.ssf.metadata.TransmitterMetadata;
import org.keycloak.ssf.stream.SsfStreamRepresentation;
import org.keycloak.util.JsonSerialization;

public class SecurityEvents {
  // Without stream-updated: Keycloak has an object as its status, where OpenID SSF 1.0 (8.1.5) has a text.
  static final Map<String, Class<? extends SsfEvent>> TYPES = Map.of(
      CaepSessionRevoked.TYPE, CaepSessionRevoked.class,
      CaepCredentialChange.TYPE, CaepCredentialChange.class,
      SsfStreamVerificationEvent.TYPE, SsfStreamVerificationEvent.class);

  public static void main(String[] args) throws Exception {
    CryptoIntegration.setProvider(new DefaultCryptoProvider());
    JsonNode task = JsonSerialization.readValue(args[0], JsonNode.class);
    var metadata = JsonSerialization.readValue(task.get("metadata").toString(), TransmitterMetadata.class);
    var stream = JsonSerialization.readValue(task.get("stream").toString(), SsfStreamRepresentation.class);
    var keys = JsonSerialization.readValue(task.get("jwks").toString(), JSONWebKeySet.class);
    List<Map<String, Object>> events = new ArrayList<>();
    for (JsonNode text : task.get("sets")) events.add(eventOf(text.asText(), keys));
    Map<String, Object> result = Map.of(
        "configuration_endpoint", metadata.getConfigurationEndpoint(),
        "stream_id", stream.getId(),
        "delivery", stream.getDelivery().getEndpointUrl().toString(),
        "events", events);
    System.out.println(JsonSerialization.writeValueAsString(Map.of("result", result)));
  }

  static Map<String, Object> eventOf(String text, JSONWebKeySet keys) throws Exception {
    JWSInput jws = new JWSInput(text);
    verify(jws, keys);
    SsfSecurityEventToken set = jws.readJsonContent(SsfSecurityEventToken.class);
    JsonNode payload = JsonSerialization.readValue(jws.getContent(), JsonNode.class).get("events");
    String type = set.getEvents().keySet().iterator().next();
    SsfEvent event =
        JsonSerialization.readValue(payload.get(type).toString(), TYPES.getOrDefault(type, GenericSsfEvent.class));
    event.validate();
    return Map.of(
        "typ", jws.getHeader().getType(),
        "jti", set.getJti(),
        "aud", set.getAud(),
        "type", type,
        "subject", set.getSubjectId().getClass().getSimpleName(),
        "class", event.getClass().getSimpleName(),
        "unknown", event.getAttributes() == null ? Set.of() : event.getAttributes().keySet());
  }

  static void verify(JWSInput jws, JSONWebKeySet keys) throws Exception {
    for (JWK key : keys.getKeys()) {
      if (!key.getKeyId().equals(jws.getHeader().getKeyId())) continue;
      Signature signature =
          Signature.getInstance("SHA256withPLAIN-ECDSA", CryptoIntegration.getProvider().getBouncyCastleProvider());
      signature.initVerify(JWKParser.create(key).toPublicKey());
      signature.update(jws.getEncodedSignatureInput().getBytes("UTF-8"));
      if (signature.verify(jws.getSignature())) return;
    }
    throw new IllegalStateException("the signature of a security event token is not valid");
  }
}
