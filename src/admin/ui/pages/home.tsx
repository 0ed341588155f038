// Home: is it well?
import { Head } from '../parts/text.tsx'

/** The first page. */
export const Home = () => <Head title="Home" about="How the service is doing." />
