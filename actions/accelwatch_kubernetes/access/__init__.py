"""How the API is asked: nodes by name, what errors mean, what roles allow."""
