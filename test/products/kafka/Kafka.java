// Kafka's client fetches a token with the properties of its task, and Kafka's broker checks it. ../../interop/driver.ts has the protocol.
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.security.auth.callback.Callback;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.SaslConfigs;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerTokenCallback;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallback;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler;

public class Kafka {
    static final String MECHANISM = "OAUTHBEARER";

    @SuppressWarnings("unchecked")
    public static void main(String[] args) throws Exception {
        Map<String, Object> task = new ObjectMapper().readValue(args[0], Map.class);
        System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.urls", (String) task.get("urls"));
        System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.files", (String) task.get("files"));
        var client = new OAuthBearerLoginCallbackHandler();
        client.configure(values((Map<String, String>) task.get("client_properties")), MECHANISM, jaas());
        var fetched = new OAuthBearerTokenCallback();
        client.handle(new Callback[] {fetched});
        var broker = new OAuthBearerValidatorCallbackHandler();
        broker.configure(values((Map<String, String>) task.get("broker_properties")), MECHANISM, jaas());
        var checked = new OAuthBearerValidatorCallback(fetched.token().value());
        broker.handle(new Callback[] {checked});
        Object result = checked.token() == null
            ? Map.of("refused", String.valueOf(checked.errorStatus()))
            : Map.of("principal", checked.token().principalName(), "scope", checked.token().scope());
        System.out.println(new ObjectMapper().writeValueAsString(Map.of("result", result)));
        System.exit(0);
    }

    // The properties with Kafka's own defaults.
    static Map<String, Object> values(Map<String, String> properties) {
        var known = new ConfigDef();
        SaslConfigs.addClientSaslSupport(known);
        return new HashMap<>(new AbstractConfig(known, properties, false).values());
    }

    static List<AppConfigurationEntry> jaas() {
        var required = AppConfigurationEntry.LoginModuleControlFlag.REQUIRED;
        return List.of(new AppConfigurationEntry(OAuthBearerLoginModule.class.getName(), required, Map.of()));
    }
}
