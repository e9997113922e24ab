"""HTTP: requests are parsed, admitted, answered."""
