// A Quarkus application that signs people in. Everything about the service is in its properties.
import io.quarkus.oidc.IdToken;
import io.quarkus.security.Authenticated;
import jakarta.inject.Inject;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import org.eclipse.microprofile.jwt.JsonWebToken;

@Path("/me")
@Authenticated
public class App {
    @Inject @IdToken JsonWebToken user;

    @GET
    public String me() {
        return user.getSubject();
    }
}
